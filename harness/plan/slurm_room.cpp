// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/slurm_room.h"

#include "harness/system/slurm_job.h"
#include "kernels/base/error.h"

namespace regatta::plan {

void require_room(const RaceRequest& request, const Placement& placement) {
  const std::optional<system::SlurmJob> job = system::slurm_job();
  if (!job || !request.hosts.empty()) return;
  const std::string why =
      system::why_no_room_in(*job, {.processes = placement.processes, .cores = request.cores});
  if (!why.empty()) throw RunError(ErrorKind::Usage, why);
}

}  // namespace regatta::plan
