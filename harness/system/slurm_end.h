// SPDX-License-Identifier: Apache-2.0
//
// The end of a Slurm job. Slurm sends SIGTERM to the job's processes some time (KillWait) before it
// kills them, so that a run can still write its record.
#pragma once

#include <csignal>
#include <optional>

#include "kernels/graph/error.h"

namespace regatta {

/// While an instance exists in a process of a Slurm job, SIGTERM is noted instead of ending the
/// process. Has no effect outside of Slurm. One instance at a time.
class SlurmEndNotice {
 public:
  SlurmEndNotice();
  ~SlurmEndNotice();
  SlurmEndNotice(const SlurmEndNotice&) = delete;
  SlurmEndNotice& operator=(const SlurmEndNotice&) = delete;

  /// Whether an instance is noting SIGTERM. Threads: any.
  static bool is_there();
  /// Whether SIGTERM has come. Threads: any.
  static bool has_come();

 private:
  struct sigaction former_ {};
};

/// RunError(Cancelled) with the job and its end, if SIGTERM has come or scontrol reports within
/// three seconds that this process's job has ended; otherwise empty.
std::optional<RunError> slurm_end();

/// Throws: slurm_end() if SIGTERM has come.
void stop_at_slurm_end();

}  // namespace regatta
