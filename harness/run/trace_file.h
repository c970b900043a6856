// SPDX-License-Identifier: Apache-2.0
//
// The file for --trace: opened before a run, which may be long, so that a bad path fails early, and
// written at its end.
#pragma once

#include <fstream>
#include <string>

#include "harness/run/trainer.h"

namespace regatta {

class TraceFile {
 public:
  /// Throws: RunError(Io).
  void open(const std::string& path);

  /// Writes the trainer's trace, if open() was called.
  /// Throws: RunError(Io) when it cannot be written completely.
  void write(Trainer& trainer);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace regatta
