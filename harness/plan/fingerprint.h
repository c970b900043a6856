// SPDX-License-Identifier: Apache-2.0
//
// What all processes of a run must agree on before its first step, line by line, so that a
// difference can be shown with both sides.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/system/machine.h"
#include "kernels/graph/data_set.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Of what coordinator and ranks say to each other (ranks/control.proto).
inline constexpr char kProtocolVersion[] = "1";

/// Name and value.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

Fingerprint fingerprint_of(const RaceRequest& request, const Placement& placement,
                           const Step& placed, const DataSet& data, const SoftwareFacts& software);

/// The lines that differ, as `seed (1 here, 2 there)`, also those that one side lacks; empty when
/// the two agree.
std::string difference(const Fingerprint& here, const Fingerprint& there);

}  // namespace regatta
