// SPDX-License-Identifier: Apache-2.0
//
// Backward weights of a convolution with a window of one pixel, that is of a dense layer over all
// pixels:
//   dw[o,i] = sum over pixels n of dy[n,o] x[n,i]
// oneDNN's bf16 product is faster than its convolution, many times so for small images with many
// channels, but not if the weights are so few that threads have little to divide.
#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/dense_paths.h"

namespace regatta::cpu {
namespace {

/// Fewest weights for the product. Batch 64, 2 threads, Sapphire Rapids, convolution and product in
/// ms: 24 x 144 weights 0.97 and 1.96, 32 x 144 0.86 and 0.39, 64 x 384 0.61 and 0.24, 320 x 1280
/// 5.02 and 0.55.
constexpr std::int64_t kFewWeights = 4096;

/// Views images as a matrix of pixels.
Tensor pixels(const Tensor& images) {
  const std::int64_t channels = images.type.dim(3);
  return {.type = {images.type.element, {images.type.elements() / channels, channels}},
          .data = images.data};
}

}  // namespace

bool is_product_of_pixels(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  return request.inputs[0].type.element == ElementType::BF16 && !attributes.has("groups") &&
         attributes.integer("kernel") == 1 && attributes.integer("stride") == 1 &&
         attributes.integer("padding") == 0 && request.outputs[0].type.elements() >= kFewWeights;
}

KernelPointer convolution_backward_weights_product(const KernelRequest& request) {
  const Tensor& dw = request.outputs[0];
  const std::vector<Tensor> inputs{pixels(request.inputs[0]), pixels(request.inputs[1])};
  const std::vector<Tensor> outputs{
      {.type = {dw.type.element, {dw.type.dim(0), dw.type.dim(3)}}, .data = dw.data}};
  KernelRequest dense = request;
  dense.inputs = inputs;
  dense.outputs = outputs;
  return dense_large_backward_weights(dense);
}

}  // namespace regatta::cpu
