// SPDX-License-Identifier: Apache-2.0
//
// single: every node at replica 0. The baseline, and what synchronous strategies have to equal.
#include "strategies/rewrites.h"

namespace regatta {

Step single(const Step& step, const StrategyOptions&) { return step; }

}  // namespace regatta
