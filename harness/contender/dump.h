// SPDX-License-Identifier: Apache-2.0
//
// `regatta dump`: everything that another program needs to train a workload as `single` does, and
// the reference that proves it (proof.h). The folder's files are described in its README.
#pragma once

#include <functional>
#include <string>

#include "harness/plan/race_request.h"

namespace regatta::contender {

/// Writes the request's workload into `folder`, which is new, empty or an earlier dump. `tell` gets
/// a line if it will write more than a gigabyte. Throws: RunError(Usage) for another folder and for
/// a request of several workers; RunError(Io) if the disk has no room.
void dump(const plan::RaceRequest& request, const std::string& folder,
          const std::function<void(const std::string&)>& tell = {});

}  // namespace regatta::contender
