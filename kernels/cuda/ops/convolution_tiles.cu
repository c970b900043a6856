// SPDX-License-Identifier: Apache-2.0
//
// A convolution and its gradients as matrix products whose operands are not materialised: an
// element that a product reads several times, because windows overlap, is fetched from the image
// each time. For each group, with taps (r, s) of the window and channels counted within the group:
//   y:  rows are pixels of y, columns outputs, terms (r, s, input)
//   dx: rows are pixels of x, columns inputs,  terms (r, s, output)
//   dw: rows are outputs,     columns (r, s, input), terms pixels of y
// Source: Chetlur et al., "cuDNN: Efficient Primitives for Deep Learning", 2014.
#include "kernels/cuda/ops/convolution_paths.h"
#include "kernels/cuda/ops/convolution_windows.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/cuda/ops/product.h"

namespace regatta::cuda {
namespace {

/// The common part of the three products.
struct Base {
  int groups, rows, columns, terms;
  ConvolutionShape shape;
};

template <class T>
struct ForwardProduct : Base {
  const T* x;
  const T* w;
  T* y;

  __host__ __device__ bool first_along_terms() const { return true; }
  __host__ __device__ bool second_along_terms() const { return true; }
  __host__ __device__ float first(int group, int row, int term) const {
    const std::int64_t pixel =
        pixel_of_x(shape, output_at(shape, row), tap_at(shape, term / shape.group_inputs));
    if (pixel < 0) return 0;
    return load(x[pixel * shape.inputs + group * shape.group_inputs + term % shape.group_inputs]);
  }
  __host__ __device__ float second(int group, int term, int column) const {
    return load(w[static_cast<std::int64_t>(group * columns + column) * terms + term]);
  }
  __host__ __device__ void put(int group, int row, int column, float sum) const {
    store(y[static_cast<std::int64_t>(row) * shape.outputs + group * columns + column], sum);
  }
};

template <class T>
struct BackwardDataProduct : Base {
  const T* dy;
  const T* w;
  T* dx;

  __host__ __device__ bool first_along_terms() const { return true; }
  __host__ __device__ bool second_along_terms() const { return false; }
  __host__ __device__ float first(int group, int row, int term) const {
    const std::int64_t pixel =
        pixel_of_y(shape, input_at(shape, row), tap_at(shape, term / shape.group_outputs));
    if (pixel < 0) return 0;
    return load(
        dy[pixel * shape.outputs + group * shape.group_outputs + term % shape.group_outputs]);
  }
  __host__ __device__ float second(int group, int term, int column) const {
    const int tap = term / shape.group_outputs;
    const int output = group * shape.group_outputs + term - tap * shape.group_outputs;
    const int row = output * shape.kernel * shape.kernel + tap;
    return load(w[static_cast<std::int64_t>(row) * columns + column]);
  }
  __host__ __device__ void put(int group, int row, int column, float sum) const {
    store(dx[static_cast<std::int64_t>(row) * shape.inputs + group * columns + column], sum);
  }
};

template <class T>
struct BackwardWeightsProduct : Base {
  const T* dy;
  const T* x;
  float* dw;

  __host__ __device__ bool first_along_terms() const { return false; }
  __host__ __device__ bool second_along_terms() const { return false; }
  __host__ __device__ float first(int group, int row, int term) const {
    return load(dy[static_cast<std::int64_t>(term) * shape.outputs + group * rows + row]);
  }
  __host__ __device__ float second(int group, int term, int column) const {
    const std::int64_t pixel =
        pixel_of_x(shape, output_at(shape, term), tap_at(shape, column / shape.group_inputs));
    if (pixel < 0) return 0;
    return load(x[pixel * shape.inputs + group * shape.group_inputs + column % shape.group_inputs]);
  }
  __host__ __device__ void put(int group, int row, int column, float sum) const {
    dw[static_cast<std::int64_t>(group * rows + row) * columns + column] = sum;
  }
};

Base base_of(ConvolutionPass pass, const ConvolutionShape& shape) {
  const int taps = shape.kernel * shape.kernel;
  Base base{.groups = shape.groups, .rows = 0, .columns = 0, .terms = 0, .shape = shape};
  switch (pass) {
    case ConvolutionPass::Forward:
      base.rows = detail::index_count(shape.pixels_of_y());
      base.columns = shape.group_outputs;
      base.terms = taps * shape.group_inputs;
      break;
    case ConvolutionPass::BackwardData:
      base.rows = detail::index_count(shape.pixels_of_x());
      base.columns = shape.group_inputs;
      base.terms = taps * shape.group_outputs;
      break;
    case ConvolutionPass::BackwardWeights:
      base.rows = shape.group_outputs;
      base.columns = taps * shape.group_inputs;
      base.terms = detail::index_count(shape.pixels_of_y());
      break;
  }
  return base;
}

template <class Product>
KernelPointer build(const KernelRequest& request, const Product& product,
                    const std::string& choice) {
  return std::make_unique<ProductKernel<Product>>(queue_of(request), product, choice);
}

template <class T>
KernelPointer build_pass(ConvolutionPass pass, const KernelRequest& request,
                         const std::string& choice) {
  const Base base = base_of(pass, shape_of(pass, request));
  const ConvolutionTensors at = tensors_of(pass, request);
  switch (pass) {
    case ConvolutionPass::Forward:
      return build(request, ForwardProduct<T>{base, at.x.as<T>(), at.w.as<T>(), at.y.as<T>()},
                   choice);
    case ConvolutionPass::BackwardData:
      return build(request, BackwardDataProduct<T>{base, at.y.as<T>(), at.w.as<T>(), at.x.as<T>()},
                   choice);
    case ConvolutionPass::BackwardWeights:
      return build(request, BackwardWeightsProduct<T>{base, at.y.as<T>(), at.x.as<T>(), at.w.f32()},
                   choice);
  }
  return nullptr;
}

}  // namespace

KernelPointer convolution_tiles(ConvolutionPass pass, const KernelRequest& request,
                                const std::string& why) {
  const std::string choice = "own tiles: " + why;
  return request.inputs[0].type.element == ElementType::F32
             ? build_pass<float>(pass, request, choice)
             : build_pass<Bf16>(pass, request, choice);
}

}  // namespace regatta::cuda
