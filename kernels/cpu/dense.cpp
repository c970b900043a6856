// SPDX-License-Identifier: Apache-2.0
//
// dense: y = x wᵀ; dx = dy w; dw = dyᵀ x. The size determines the implementation (dense_paths.h).
#include "kernels/cpu/dense_paths.h"
#include "kernels/cpu/lanes.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

/// Whether the product is small. Its three tensors have B I, I O and B O elements in some order;
/// the product of these numbers is the square of the B I O multiply-adds.
bool is_small(const KernelRequest& request) {
  const Tensor& a = request.inputs[0];
  const Tensor& b = request.inputs[1];
  const Tensor& y = request.outputs[0];
  if (a.type.element != ElementType::F32) return false;
  const double square = static_cast<double>(a.elements()) * static_cast<double>(b.elements()) *
                        static_cast<double>(y.elements());
  return square <= static_cast<double>(kSmallProduct) * static_cast<double>(kSmallProduct);
}

/// Whether panels compute backward weights faster than oneDNN.
bool suits_panels(const KernelRequest& request) {
  const auto is_wide = [](const Tensor& t) {
    return t.type.element == ElementType::F32 && t.type.columns() >= kPanelWidth;
  };
  return kLanes < 16 && is_wide(request.inputs[0]) && is_wide(request.inputs[1]);
}

KernelPointer dense(const KernelRequest& request) {
  return is_small(request) ? dense_small(request) : dense_large(request);
}

KernelPointer dense_backward_data(const KernelRequest& request) {
  return is_small(request) ? dense_small_backward_data(request)
                           : dense_large_backward_data(request);
}

KernelPointer dense_backward_weights(const KernelRequest& request) {
  if (is_small(request)) return dense_small_backward_weights(request);
  return suits_panels(request) ? dense_panels_backward_weights(request)
                               : dense_large_backward_weights(request);
}

}  // namespace

KernelRows dense_kernels() {
  return {{Op::Dense, dense},
          {Op::DenseBackwardData, dense_backward_data},
          {Op::DenseBackwardWeights, dense_backward_weights}};
}

}  // namespace regatta::cpu
