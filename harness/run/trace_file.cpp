// SPDX-License-Identifier: Apache-2.0
#include "harness/run/trace_file.h"

#include "kernels/base/error.h"

namespace regatta::run {

void TraceFile::create(const std::string& path, system::IfThere if_there) {
  file_.emplace(system::OutputOptions{.path = path, .flag = "--trace", .if_there = if_there});
}

void TraceFile::write(Trainer& trainer) {
  if (!file_) return;
  const std::vector<ProcessTrace> traces = trainer.traces();
  write_chrome_trace(file_->stream(), traces);
  try {
    file_->commit();
  } catch (const RunError& error) {
    throw RunError(error.kind(), error.what() + std::string("; the record is kept"));
  }
  file_.reset();
}

}  // namespace regatta::run
