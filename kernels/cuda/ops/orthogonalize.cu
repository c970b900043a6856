// SPDX-License-Identifier: Apache-2.0
//
// Modified Gram-Schmidt of the columns of a matrix, like kernels/cpu/orthogonalize.cpp, with sums
// in f64. Matrices are thin and columns depend on each other, so one block does all the work. A
// thread keeps its rows, so threads only meet for sums, which are added in one order on every GPU.
#include <cmath>

#include "kernels/cuda/device/launch.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

constexpr int kMatrixThreads = 256;
constexpr double kNothingLeft = 1e-6;  // builder.h

struct Orthogonalize {
  struct Shared {
    double sums[kMatrixThreads];
    double square;  ///< squared length of the column before others are subtracted
  };

  const float* x;
  float* y;
  std::int64_t rows;
  std::int64_t columns;

  __host__ __device__ void operator()(const Block& block) const {
    each_row(block, [&](std::int64_t at) {
      for (std::int64_t column = 0; column < columns; ++column) y[at + column] = x[at + column];
    });
    for (std::int64_t column = 0; column < columns; ++column) orthogonalize(block, column);
  }

  __host__ __device__ void orthogonalize(const Block& block, std::int64_t column) const {
    Shared& shared = shared_of(block);
    multiply(block, column, column);
    block.each([&](int thread) {
      if (thread == 0) shared.square = shared.sums[0];
    });
    for (std::int64_t other = 0; other < column; ++other) {
      multiply(block, column, other);
      each_row(block, [&](std::int64_t at) {
        const double along = shared.sums[0] * static_cast<double>(y[at + other]);
        y[at + column] = static_cast<float>(static_cast<double>(y[at + column]) - along);
      });
    }
    multiply(block, column, column);
    each_row(block, [&](std::int64_t at) {
      const double length = sqrt(shared.sums[0]);
      const double factor = length > kNothingLeft * sqrt(shared.square) ? 1 / length : 0;
      y[at + column] = static_cast<float>(factor * static_cast<double>(y[at + column]));
    });
  }

  /// Leaves the product of two columns in sums[0].
  __host__ __device__ void multiply(const Block& block, std::int64_t a, std::int64_t b) const {
    double* const sums = shared_of(block).sums;
    block.each([&](int thread) { sums[thread] = 0; });
    each_row(block, [&](std::int64_t at, int thread) {
      sums[thread] += static_cast<double>(y[at + a]) * static_cast<double>(y[at + b]);
    });
    for (int half = kMatrixThreads / 2; half > 0; half /= 2) {
      block.each([&](int thread) {
        if (thread < half) sums[thread] += sums[thread + half];
      });
    }
  }

  /// Calls visit(offset of the row) or visit(offset of the row, thread) for each row.
  template <class Visit>
  __host__ __device__ void each_row(const Block& block, const Visit& visit) const {
    block.each([&](int thread) {
      for (std::int64_t row = thread; row < rows; row += kMatrixThreads) {
        if constexpr (std::is_invocable_v<Visit, std::int64_t>) {
          visit(row * columns);
        } else {
          visit(row * columns, thread);
        }
      }
    });
  }

  static __host__ __device__ Shared& shared_of(const Block& block) {
    return *reinterpret_cast<Shared*>(block.shared);
  }
};

KernelPointer orthogonalize(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  Queue* queue = &queue_of(request);
  const Orthogonalize body{
      .x = x.f32(), .y = y.f32(), .rows = x.type.dim(0), .columns = x.type.dim(1)};
  return make_kernel([=](const StepContext&) {
    for_each_block(*queue, 1, kMatrixThreads, sizeof(Orthogonalize::Shared), body);
  });
}

}  // namespace

KernelRows orthogonalize_kernels() { return {{Op::Orthogonalize, orthogonalize}}; }

}  // namespace regatta::cuda
