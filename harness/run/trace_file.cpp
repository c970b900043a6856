// SPDX-License-Identifier: Apache-2.0
#include "harness/run/trace_file.h"

#include "kernels/graph/error.h"

namespace regatta {

namespace {

OutputOptions options_of(const std::string& path, IfThere if_there) {
  return {.path = path, .flag = "--trace", .if_there = if_there};
}

}  // namespace

void TraceFile::create(const std::string& path, IfThere if_there) {
  file_.emplace(options_of(path, if_there));
}

void TraceFile::create(const std::string& path, IfThere if_there, int processes) {
  if (processes == 1) create(path, if_there);
  for (int rank = 0; processes > 1 && rank < processes; ++rank) {
    require_free(options_of(trace_of_rank(path, rank), if_there));
  }
}

void TraceFile::write(Trainer& trainer) {
  if (!file_) return;
  trainer.write_trace(file_->stream());
  try {
    file_->commit();
  } catch (const RunError& error) {
    throw RunError(error.kind(), error.what() + std::string("; the record is kept"));
  }
  file_.reset();
}

std::string trace_of_rank(const std::string& path, int rank) {
  return path + ".rank" + std::to_string(rank);
}

}  // namespace regatta
