// SPDX-License-Identifier: Apache-2.0
//
// The end of a Slurm job, which Slurm announces by SIGTERM to its processes, some time (KillWait)
// before it kills them: a run that hears of it still writes its record.
#pragma once

#include <csignal>
#include <optional>

#include "kernels/graph/error.h"

namespace regatta {

/// While this lives in a process of a Slurm job, SIGTERM does not end the process but is noted.
/// Does nothing outside of Slurm. One at a time.
class SlurmEndNotice {
 public:
  SlurmEndNotice();
  ~SlurmEndNotice();
  SlurmEndNotice(const SlurmEndNotice&) = delete;
  SlurmEndNotice& operator=(const SlurmEndNotice&) = delete;

  /// Whether one lives that notes SIGTERM. Threads: any.
  static bool is_there();
  /// Whether it has come. Threads: any.
  static bool has_come();

 private:
  struct sigaction former_ {};
};

/// Why a run cannot go on, where SIGTERM has come, or where scontrol, which is given three seconds,
/// says that this process's job has ended: RunError(Cancelled) with the job and its end.
std::optional<RunError> slurm_end();

/// Throws: slurm_end() if SIGTERM has come.
void stop_at_slurm_end();

}  // namespace regatta
