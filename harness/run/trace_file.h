// SPDX-License-Identifier: Apache-2.0
//
// The file for --trace, one for all processes of a run. It is created before the run, so that a bad
// path fails early, and written at the end of the run.
#pragma once

#include <optional>
#include <string>

#include "harness/run/trainer.h"
#include "harness/system/output_file.h"

namespace regatta::run {

class TraceFile {
 public:
  /// Creates the file. Throws: RunError(Usage), RunError(Io), like OutputFile.
  void create(const std::string& path, system::IfThere if_there);

  /// Writes the timelines of all processes, if create() was called. Throws: RunError(Io) if they
  /// cannot be written completely.
  void write(Trainer& trainer);

 private:
  std::optional<system::OutputFile> file_;
};

}  // namespace regatta::run
