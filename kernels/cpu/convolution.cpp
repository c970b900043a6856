// SPDX-License-Identifier: Apache-2.0
//
// Chooses the implementation of a convolution (convolution_paths.h).
#include "kernels/cpu/convolution_paths.h"
#include "kernels/rewrite/winograd.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

// The most pixels of x (of dy) at which our tiles beat oneDNN's forward pass, measured on 2
// threads (convolution_bench of 3690168c, Sapphire Rapids, oneDNN 2.6.3): forward 8 x 8 wins and
// 15 x 15 does not, backward data 15 x 15 wins and 16 x 16 does not.
constexpr std::int64_t kForwardPixels = 8 * 8;
constexpr std::int64_t kBackwardPixels = 15 * 15;

bool by_pixels(const KernelRequest& request, std::int64_t limit) {
  const TensorType& x = request.inputs[0].type;
  return x.dim(1) * x.dim(2) <= limit && can_go_by_pixels(request);
}

KernelPointer convolution(const KernelRequest& request) {
  if (is_by_winograd(request.node)) return convolution_winograd(request);
  return by_pixels(request, kForwardPixels) ? convolution_pixels(request)
                                            : convolution_onednn(request);
}

KernelPointer convolution_backward_data(const KernelRequest& request) {
  if (is_by_winograd(request.node)) return convolution_backward_data_winograd(request);
  if (by_pixels(request, kBackwardPixels)) return convolution_backward_data_pixels(request);
  return can_flip(request) ? convolution_backward_data_flipped(request)
                           : convolution_backward_data_onednn(request);
}

KernelPointer convolution_backward_weights(const KernelRequest& request) {
  if (is_by_winograd(request.node)) return convolution_backward_weights_winograd(request);
  if (is_product_of_pixels(request)) return convolution_backward_weights_product(request);
  if (is_depthwise_of_lanes(request)) return convolution_backward_weights_depthwise(request);
  return can_use_tiles(request) ? convolution_backward_weights_tiles(request)
                                : convolution_backward_weights_onednn(request);
}

}  // namespace

KernelRows convolution_kernels() {
  return {{Op::Convolution, convolution},
          {Op::ConvolutionBackwardData, convolution_backward_data},
          {Op::ConvolutionBackwardWeights, convolution_backward_weights}};
}

}  // namespace regatta::cpu
