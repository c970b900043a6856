// SPDX-License-Identifier: Apache-2.0
//
// The processes of all places of a step whose places stand for others that are not built
// (Step::alike). Virtual time needs them for the messages that share a link with one that is built.
#pragma once

#include <map>

#include "kernels/distribute/partition.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Returns Partition::process_of_place; empty if every place is built.
std::map<Place, int> processes_of_places(const Step& step, const Binding& binding);

}  // namespace regatta
