// SPDX-License-Identifier: Apache-2.0
//
// Detects the end of a Slurm job. Slurm sends SIGTERM to the job's processes some time (KillWait)
// before it kills them, so that a run can still write its record.
#pragma once

#include <csignal>
#include <optional>

#include "kernels/base/error.h"

namespace regatta::system {

/// Notes SIGTERM instead of letting it end the process, while an instance exists in a process of a
/// Slurm job. Has no effect outside of Slurm. Only one instance may exist at a time.
class SlurmEndNotice {
 public:
  SlurmEndNotice();
  ~SlurmEndNotice();
  SlurmEndNotice(const SlurmEndNotice&) = delete;
  SlurmEndNotice& operator=(const SlurmEndNotice&) = delete;

  /// True if an instance exists and notes SIGTERM. Threads: any.
  static bool is_there();
  /// True if SIGTERM has come. Threads: any.
  static bool has_come();

 private:
  struct sigaction former_ {};
};

/// Returns RunError(Cancelled), which names the job and how it ended, if SIGTERM has come or if
/// scontrol reports within three seconds that this process's job has ended; otherwise empty.
std::optional<RunError> slurm_end();

/// Checks that no SIGTERM has come. Throws: the error that slurm_end() returns.
void stop_at_slurm_end();

}  // namespace regatta::system
