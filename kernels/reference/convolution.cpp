// SPDX-License-Identifier: Apache-2.0
//
// convolution: y[b,p,q,o] = sum over r,s,i of x[b, p*stride+r-padding, q*stride+s-padding, i]
// w[o,r,s,i], zero outside x, i counted within the group of o. Each product multiplies one x by one
// w into one y; the backward ops visit the same products, with dx += dy w and dw += dy x.
#include <algorithm>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

struct Shape {
  std::int64_t batch, height, width, inputs;  // of x
  std::int64_t rows, columns, outputs;        // of y
  std::int64_t kernel, stride, padding;
  std::int64_t group_inputs, group_outputs;
};

Shape shape_of(const Attributes& attributes, const TensorType& x, const TensorType& w,
               const TensorType& y) {
  return {.batch = x.dim(0),
          .height = x.dim(1),
          .width = x.dim(2),
          .inputs = x.dim(3),
          .rows = y.dim(1),
          .columns = y.dim(2),
          .outputs = y.dim(3),
          .kernel = attributes.integer("kernel"),
          .stride = attributes.integer("stride"),
          .padding = attributes.integer("padding"),
          .group_inputs = w.dim(3),
          .group_outputs = y.dim(3) * w.dim(3) / x.dim(3)};
}

/// Calls visit(index in y, index in x, index in w) for every product.
template <typename Visit>
void for_each_product(const Shape& n, Visit visit) {
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t p = 0; p < n.rows; ++p) {
      for (std::int64_t q = 0; q < n.columns; ++q) {
        for (std::int64_t r = 0; r < n.kernel; ++r) {
          for (std::int64_t s = 0; s < n.kernel; ++s) {
            const std::int64_t h = p * n.stride + r - n.padding;
            const std::int64_t w = q * n.stride + s - n.padding;
            if (h < 0 || h >= n.height || w < 0 || w >= n.width) continue;
            const std::int64_t y = ((b * n.rows + p) * n.columns + q) * n.outputs;
            const std::int64_t x = ((b * n.height + h) * n.width + w) * n.inputs;
            for (std::int64_t o = 0; o < n.outputs; ++o) {
              const std::int64_t weight = ((o * n.kernel + r) * n.kernel + s) * n.group_inputs;
              const std::int64_t first = x + o / n.group_outputs * n.group_inputs;
              for (std::int64_t i = 0; i < n.group_inputs; ++i) {
                visit(y + o, first + i, weight + i);
              }
            }
          }
        }
      }
    }
  }
}

/// Sums in double that are rounded to f32 once.
class Sums {
 public:
  explicit Sums(const Tensor& destination)
      : destination_(destination), sums_(static_cast<std::size_t>(destination.elements())) {}
  void clear() { std::fill(sums_.begin(), sums_.end(), 0.0); }
  void add(std::int64_t index, double term) { sums_[static_cast<std::size_t>(index)] += term; }
  void store() const {
    std::transform(sums_.begin(), sums_.end(), destination_.f32(),
                   [](double sum) { return static_cast<float>(sum); });
  }

 private:
  Tensor destination_;
  std::vector<double> sums_;
};

KernelPointer convolution(const KernelRequest& request) {
  const Tensor x = request.inputs[0], w = request.inputs[1], y = request.outputs[0];
  const Shape shape = shape_of(request.node.attributes, x.type, w.type, y.type);
  return make_kernel([=, sums = Sums(y)](const StepContext&) mutable {
    sums.clear();
    for_each_product(shape, [&](std::int64_t iy, std::int64_t ix, std::int64_t iw) {
      sums.add(iy, double{x.f32()[ix]} * w.f32()[iw]);
    });
    sums.store();
  });
}

KernelPointer convolution_backward_data(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], w = request.inputs[1], dx = request.outputs[0];
  const Shape shape = shape_of(request.node.attributes, dx.type, w.type, dy.type);
  return make_kernel([=, sums = Sums(dx)](const StepContext&) mutable {
    sums.clear();
    for_each_product(shape, [&](std::int64_t iy, std::int64_t ix, std::int64_t iw) {
      sums.add(ix, double{dy.f32()[iy]} * w.f32()[iw]);
    });
    sums.store();
  });
}

KernelPointer convolution_backward_weights(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], dw = request.outputs[0];
  const Shape shape = shape_of(request.node.attributes, x.type, dw.type, dy.type);
  return make_kernel([=, sums = Sums(dw)](const StepContext&) mutable {
    sums.clear();
    for_each_product(shape, [&](std::int64_t iy, std::int64_t ix, std::int64_t iw) {
      sums.add(iw, double{dy.f32()[iy]} * x.f32()[ix]);
    });
    sums.store();
  });
}

}  // namespace

KernelRows convolution_kernels() {
  return {{Op::Convolution, convolution},
          {Op::ConvolutionBackwardData, convolution_backward_data},
          {Op::ConvolutionBackwardWeights, convolution_backward_weights}};
}

}  // namespace regatta::reference
