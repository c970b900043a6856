// SPDX-License-Identifier: Apache-2.0
//
// cuDNN's table of functions (library.h).
#include "kernels/cuda/library/library.h"
#include "kernels/runtime/shared_library.h"

namespace regatta::cuda {
namespace {

/// The oldest version that our calls work with: 9 has today's graph API, and keeps old names where
/// it adds new ones.
constexpr std::int64_t kOldestCudnn = 90000;

Cudnn load_cudnn() {
  const SharedLibrary library(kCudnn);
  Cudnn table;
  library.find(table.get_version, "cudnnGetVersion");
  library.require(static_cast<std::int64_t>(table.get_version()), kOldestCudnn, "9.0");
  library.find(table.get_error_string, "cudnnGetErrorString");
  library.find(table.get_last_error_string, "cudnnGetLastErrorString");
  library.find(table.create, "cudnnCreate");
  library.find(table.destroy, "cudnnDestroy");
  library.find(table.set_stream, "cudnnSetStream");
  library.find(table.create_descriptor, "cudnnBackendCreateDescriptor");
  library.find(table.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  library.find(table.finalize, "cudnnBackendFinalize");
  library.find(table.set_attribute, "cudnnBackendSetAttribute");
  library.find(table.get_attribute, "cudnnBackendGetAttribute");
  library.find(table.execute, "cudnnBackendExecute");
  return table;
}

}  // namespace

const Cudnn& cudnn() {
  static const Cudnn table = load_cudnn();
  return table;
}

}  // namespace regatta::cuda
