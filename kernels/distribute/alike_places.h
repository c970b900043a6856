// SPDX-License-Identifier: Apache-2.0
//
// Finds the process of every place of a step, including places that are not built (Step::alike).
// Virtual time needs them, because messages of places that are not built share links with those of
// built ones.
#pragma once

#include <map>

#include "kernels/distribute/partition.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Returns Partition::process_of_place; empty if every place is built.
std::map<Place, int> processes_of_places(const Step& step, const Binding& binding);

}  // namespace regatta
