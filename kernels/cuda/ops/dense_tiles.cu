// SPDX-License-Identifier: Apache-2.0
//
// dense by our own tiles: y = x wᵀ, dx = dy w, dw = dyᵀ x, each a product of strided matrices.
#include "kernels/cuda/ops/dense_paths.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/cuda/ops/product.h"

namespace regatta::cuda {
namespace {

/// Steps in memory from one row, column or term to the next.
struct Steps {
  std::int64_t first_row, first_term;
  std::int64_t second_term, second_column;
};

template <class In, class Out>
struct MatrixProduct {
  int groups, rows, columns, terms;
  Steps steps;
  const In* a;
  const In* b;
  Out* out;

  __host__ __device__ bool first_along_terms() const { return steps.first_term == 1; }
  __host__ __device__ bool second_along_terms() const { return steps.second_term == 1; }
  __host__ __device__ float first(int, int row, int term) const {
    return load(a[row * steps.first_row + term * steps.first_term]);
  }
  __host__ __device__ float second(int, int term, int column) const {
    return load(b[term * steps.second_term + column * steps.second_column]);
  }
  __host__ __device__ void put(int, int row, int column, float sum) const {
    store(out[static_cast<std::int64_t>(row) * columns + column], sum);
  }
};

/// [rows, columns] = sum over terms; the number of terms, and the operands' layout.
struct Sizes {
  std::int64_t rows, columns, terms;
  Steps steps;
};

template <class In, class Out>
KernelPointer build(const KernelRequest& request, const Sizes& sizes, const std::string& choice) {
  const MatrixProduct<In, Out> product{.groups = 1,
                                       .rows = detail::index_count(sizes.rows),
                                       .columns = detail::index_count(sizes.columns),
                                       .terms = detail::index_count(sizes.terms),
                                       .steps = sizes.steps,
                                       .a = request.inputs[0].as<In>(),
                                       .b = request.inputs[1].as<In>(),
                                       .out = request.outputs[0].as<Out>()};
  return std::make_unique<ProductKernel<MatrixProduct<In, Out>>>(queue_of(request), product,
                                                                 choice);
}

KernelPointer build(const KernelRequest& request, const Sizes& sizes, const std::string& why) {
  const ElementType in = request.inputs[0].type.element;
  const ElementType out = request.outputs[0].type.element;
  if (request.inputs[1].type.element != in) return nullptr;
  const std::string choice = "own tiles: " + why;
  if (in == ElementType::F32) return build<float, float>(request, sizes, choice);
  if (in != ElementType::BF16) return nullptr;
  return out == ElementType::F32 ? build<Bf16, float>(request, sizes, choice)
                                 : build<Bf16, Bf16>(request, sizes, choice);
}

}  // namespace

KernelPointer dense_tiles(const KernelRequest& request, const std::string& why) {
  const TensorType& x = request.inputs[0].type;
  const TensorType& w = request.inputs[1].type;
  return build(request,
               {.rows = x.rows(),
                .columns = w.rows(),
                .terms = x.columns(),
                .steps = {.first_row = x.columns(),
                          .first_term = 1,
                          .second_term = 1,
                          .second_column = x.columns()}},
               why);
}

KernelPointer dense_tiles_backward_data(const KernelRequest& request, const std::string& why) {
  const TensorType& dy = request.inputs[0].type;
  const TensorType& w = request.inputs[1].type;
  return build(request,
               {.rows = dy.rows(),
                .columns = w.columns(),
                .terms = dy.columns(),
                .steps = {.first_row = dy.columns(),
                          .first_term = 1,
                          .second_term = w.columns(),
                          .second_column = 1}},
               why);
}

KernelPointer dense_tiles_backward_weights(const KernelRequest& request, const std::string& why) {
  const TensorType& dy = request.inputs[0].type;
  const TensorType& x = request.inputs[1].type;
  return build(request,
               {.rows = dy.columns(),
                .columns = x.columns(),
                .terms = dy.rows(),
                .steps = {.first_row = 1,
                          .first_term = dy.columns(),
                          .second_term = x.columns(),
                          .second_column = 1}},
               why);
}

}  // namespace regatta::cuda
