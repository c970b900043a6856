// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/slurm_room.h"

#include "harness/system/slurm_job.h"
#include "kernels/base/error.h"

namespace regatta {

void require_room(const RaceRequest& request, const Placement& placement) {
  const std::optional<SlurmJob> job = slurm_job();
  if (!job || !request.hosts.empty()) return;
  const std::string why =
      why_no_room_in(*job, {.processes = placement.processes, .cores = request.threads});
  if (!why.empty()) throw RunError(ErrorKind::Usage, why);
}

}  // namespace regatta
