// SPDX-License-Identifier: Apache-2.0
//
// The facts that all processes of a run must agree on before the first step, one per line, so that
// an error can show both sides of a difference.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/system/machine.h"
#include "kernels/graph/data_set.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Version of the protocol between coordinator and ranks (ranks/control.proto).
inline constexpr char kProtocolVersion[] = "2";

/// Pairs of name and value, one per line.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

Fingerprint fingerprint_of(const RaceRequest& request, const Placement& placement,
                           const Step& placed, const DataSet& data, const SoftwareFacts& software);

/// The lines that differ, as `seed (1 here, 2 there)`, including lines that one side lacks; empty
/// if both sides agree.
std::string difference(const Fingerprint& here, const Fingerprint& there);

}  // namespace regatta
