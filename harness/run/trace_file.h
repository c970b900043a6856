// SPDX-License-Identifier: Apache-2.0
//
// The file that --trace names: opened before a run, which may be long, and written at its end.
#pragma once

#include <fstream>
#include <string>

#include "harness/run/trainer.h"

namespace regatta {

class TraceFile {
 public:
  /// Throws: RunError(Io).
  void open(const std::string& path);

  /// What the trainer has traced; nothing unless open() was called.
  /// Throws: RunError(Io) when not all of it fits.
  void write(Trainer& trainer);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace regatta
