// SPDX-License-Identifier: Apache-2.0
//
// single: every node at replica 0. The baseline; synchronous strategies equal it within rounding.
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

Step single(const Step& step, const StrategyOptions&) { return step; }

}  // namespace

extern constinit const Strategy kSingle = {.name = "single",
                                           .term = "baseline",
                                           .summary = "every node on one worker",
                                           .colour = "#000000",
                                           .workers = WorkersAre::One,
                                           .exchange = Exchange::Synchronous,
                                           .processes = Processes::One,
                                           .options = {},
                                           .rewrite = single,
                                           .builds = Builds::OneOfAlike};

}  // namespace regatta::strategies
