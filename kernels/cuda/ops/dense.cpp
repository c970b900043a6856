// SPDX-License-Identifier: Apache-2.0
//
// dense: y = x wᵀ; dx = dy w; dw = dyᵀ x. Chooses the implementation (dense_paths.h).
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/dense_paths.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

using Library = KernelPointer (*)(const KernelRequest&);
using Tiles = KernelPointer (*)(const KernelRequest&, const std::string&);

KernelPointer choose(const KernelRequest& request, Library library, Tiles tiles) {
  std::string why = queue_of(request).emulated() ? "the queue is emulated" : why_no_cublas_lt();
  if (why.empty()) {
    KernelPointer kernel = library(request);
    if (kernel != nullptr) return kernel;
    why = "cuBLASLt has no algorithm for it";
  }
  return tiles(request, why);
}

}  // namespace

KernelPointer dense(const KernelRequest& request) {
  return choose(request, dense_library, dense_tiles);
}

KernelPointer dense_backward_data(const KernelRequest& request) {
  return choose(request, dense_library_backward_data, dense_tiles_backward_data);
}

KernelPointer dense_backward_weights(const KernelRequest& request) {
  return choose(request, dense_library_backward_weights, dense_tiles_backward_weights);
}

KernelRows dense_kernels() {
  return {{Op::Dense, dense},
          {Op::DenseBackwardData, dense_backward_data},
          {Op::DenseBackwardWeights, dense_backward_weights}};
}

}  // namespace regatta::cuda
