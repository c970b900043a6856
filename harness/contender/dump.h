// SPDX-License-Identifier: Apache-2.0
//
// `regatta dump`: everything that another program needs to train a workload as `single` does, and
// the reference that proves it (proof.h). dump.md describes the files.
#pragma once

#include <functional>
#include <string>

#include "harness/plan/race_request.h"

namespace regatta::contender {

using Tell = std::function<void(const std::string& line)>;

/// Writes the request's workload into `folder`, which is new, empty or an earlier dump. Calls
/// `tell` if it will write more than a gigabyte. Throws: RunError(Usage) for another folder and for
/// another strategy than `single`; RunError(Io) if the disk has no room.
void dump(const plan::RaceRequest& request, const std::string& folder, const Tell& tell = {});

}  // namespace regatta::contender
