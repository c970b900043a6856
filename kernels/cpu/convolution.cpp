// SPDX-License-Identifier: Apache-2.0
//
// Which of the ways computes a convolution (convolution_paths.h).
#include "kernels/cpu/convolution_paths.h"

namespace regatta::cpu {

KernelPointer convolution(const KernelRequest& request) {
  return can_go_by_pixels(request) ? convolution_pixels(request) : convolution_onednn(request);
}

KernelPointer convolution_backward_data(const KernelRequest& request) {
  if (can_go_by_pixels(request)) return convolution_backward_data_pixels(request);
  return can_flip(request) ? convolution_backward_data_flipped(request)
                           : convolution_backward_data_onednn(request);
}

KernelPointer convolution_backward_weights(const KernelRequest& request) {
  if (is_product_of_pixels(request)) return convolution_backward_weights_product(request);
  if (is_depthwise_of_lanes(request)) return convolution_backward_weights_depthwise(request);
  return can_use_tiles(request) ? convolution_backward_weights_tiles(request)
                                : convolution_backward_weights_onednn(request);
}

}  // namespace regatta::cpu
