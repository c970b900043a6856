// SPDX-License-Identifier: Apache-2.0
//
// The passes of dense and of convolutions on random arrays, for tests of kernels of any device.
#pragma once

#include <array>
#include <string>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {

struct DenseShape {
  std::int64_t batch, inputs, outputs;
};

struct ConvolutionShape {
  std::int64_t batch, height, width, inputs, outputs;
  std::int64_t kernel = 3, stride = 1, padding = 1;
  std::int64_t groups = 1;
  std::int64_t side(std::int64_t n) const { return (n + 2 * padding - kernel) / stride + 1; }
};

/// An op whose results are sums of `terms` products.
struct Product {
  OpCase op;
  std::int64_t terms;
};

/// Forward, the gradient of the input, and that of the weights.
using Passes = std::array<Product, 3>;

inline Passes passes_of(const DenseShape& s) {
  const Array x = random_array({s.batch, s.inputs}, 1);
  const Array w = random_array({s.outputs, s.inputs}, 2);
  const Array dy = random_array({s.batch, s.outputs}, 3);
  const std::string shape = to_string(x.type) + " * " + to_string(w.type);
  return {{{{Op::Dense, {}, {x, w}, {}, "dense " + shape}, s.inputs},
           {{Op::DenseBackwardData, {}, {dy, w}, {}, "backward data " + shape}, s.outputs},
           {{Op::DenseBackwardWeights, {}, {dy, x}, {}, "backward weights " + shape}, s.batch}}};
}

inline Passes passes_of(const ConvolutionShape& s) {
  const std::int64_t height = s.side(s.height), width = s.side(s.width);
  const std::int64_t taps = s.kernel * s.kernel;
  const Array x = random_array({s.batch, s.height, s.width, s.inputs}, 1);
  const Array w = random_array({s.outputs, s.kernel, s.kernel, s.inputs / s.groups}, 2);
  const Array dy = random_array({s.batch, height, width, s.outputs}, 3);
  Attributes window{{"kernel", s.kernel}, {"stride", s.stride}, {"padding", s.padding}};
  if (s.groups != 1) window.set("groups", s.groups);
  Attributes of_x = window, of_w = window;
  of_x.set("dims", x.type.dims);
  of_x.set("images", std::int64_t{1});
  of_w.set("dims", w.type.dims);
  const std::string shape = to_string(x.type) + " * " + to_string(w.type) + ' ' + to_string(window);
  return {
      {{{Op::Convolution, window, {x, w}, {}, "convolution " + shape}, taps * s.inputs / s.groups},
       {{Op::ConvolutionBackwardData, of_x, {dy, w}, {}, "backward data " + shape},
        taps * s.outputs / s.groups},
       {{Op::ConvolutionBackwardWeights, of_w, {dy, x}, {}, "backward weights " + shape},
        s.batch * height * width}}};
}

}  // namespace regatta::cpu::test
