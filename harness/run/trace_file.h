// SPDX-License-Identifier: Apache-2.0
//
// The file for --trace: created before a run, which may be long, so that a bad path fails early,
// and written at its end.
#pragma once

#include <optional>
#include <string>

#include "harness/run/trainer.h"
#include "harness/system/output_file.h"

namespace regatta {

class TraceFile {
 public:
  /// Throws: RunError(Usage), RunError(Io) as OutputFile does.
  void create(const std::string& path, IfThere if_there);

  /// Of a run of so many processes: of several each has its own, for which there has to be room.
  /// Throws: the same.
  void create(const std::string& path, IfThere if_there, int processes);

  /// Writes the trainer's trace, if create() was called.
  /// Throws: RunError(Io) when it cannot be written completely.
  void write(Trainer& trainer);

 private:
  std::optional<OutputFile> file_;
};

/// Of one of several processes.
std::string trace_of_rank(const std::string& path, int rank);

}  // namespace regatta
