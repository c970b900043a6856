// SPDX-License-Identifier: Apache-2.0
//
// Lists the facts on which all processes of a run must agree before the first step, such as the
// cell's fields that record/cell_record.h declares so. An error can show both values of each fact
// that differs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/system/machine.h"
#include "kernels/data/data_set.h"
#include "kernels/graph/graph.h"

namespace regatta::plan {

/// Version of the protocol between coordinator and ranks (ranks/control.proto).
inline constexpr char kProtocolVersion[] = "3";

/// Facts as pairs of name and value.
using Fingerprint = std::vector<std::pair<std::string, std::string>>;

/// Computes the facts of this process.
Fingerprint fingerprint_of(const RaceRequest& request, const Placement& placement,
                           const Step& placed, const DataSet& data,
                           const system::SoftwareFacts& software);

/// Describes the facts that differ or that one side lacks: `seed (1 here, 2 there)`. Empty if both
/// sides agree.
std::string difference(const Fingerprint& here, const Fingerprint& there);

}  // namespace regatta::plan
