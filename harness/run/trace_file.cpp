// SPDX-License-Identifier: Apache-2.0
#include "harness/run/trace_file.h"

#include <cerrno>
#include <cstring>

#include "kernels/graph/error.h"

namespace regatta {

void TraceFile::open(const std::string& path) {
  path_ = path;
  file_.open(path);
  if (file_) return;
  throw RunError(ErrorKind::Io, "cannot write the trace to " + path + ": " + std::strerror(errno) +
                                    "; choose another file for --trace");
}

void TraceFile::write(Trainer& trainer) {
  if (!file_.is_open()) return;
  trainer.write_trace(file_);
  if (file_.flush()) return;
  throw RunError(ErrorKind::Io, "the trace in " + path_ +
                                    " is incomplete, the disk is probably full; the record is "
                                    "kept, choose another file for --trace");
}

}  // namespace regatta
