// SPDX-License-Identifier: Apache-2.0
//
// Chooses the implementation of a convolution (convolution_paths.h).
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/convolution_paths.h"

namespace regatta::cuda {
namespace {

/// The reason why cuDNN cannot compute the convolution; empty if it may.
std::string why_not_library(ConvolutionPass pass, const KernelRequest& request) {
  if (queue_of(request).emulated()) return "the queue is emulated";
  if (!is_aligned_for_library(pass, request)) return "tensors begin at odd addresses";
  return why_no_cudnn();
}

KernelPointer choose(ConvolutionPass pass, const KernelRequest& request, EngineRule engines) {
  if (!is_computed(request)) return nullptr;
  if (pass == ConvolutionPass::Forward) {
    if (KernelPointer kernel = convolution_direct(request)) return kernel;
  }
  std::string why = why_not_library(pass, request);
  if (why.empty()) {
    KernelPointer kernel = convolution_library(pass, request, engines);
    if (kernel != nullptr) return kernel;
    why = "cuDNN has no engine for it";
  }
  return convolution_tiles(pass, request, why);
}

}  // namespace

KernelPointer convolution(const KernelRequest& request, EngineRule engines) {
  return choose(ConvolutionPass::Forward, request, engines);
}

KernelPointer convolution_backward_data(const KernelRequest& request, EngineRule engines) {
  return choose(ConvolutionPass::BackwardData, request, engines);
}

KernelPointer convolution_backward_weights(const KernelRequest& request, EngineRule engines) {
  return choose(ConvolutionPass::BackwardWeights, request, engines);
}

}  // namespace regatta::cuda
