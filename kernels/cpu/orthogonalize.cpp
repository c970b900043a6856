// SPDX-License-Identifier: Apache-2.0
//
// Modified Gram-Schmidt on the columns of a matrix, with sums in f64. It uses one thread, so that
// every worker gets the same bits; matrices are thin.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

constexpr double kNothingLeft = 1e-6;  // builder.h

/// The columns of a matrix [rows, columns], with operations on single columns.
class Columns {
 public:
  explicit Columns(const Tensor& matrix)
      : data_(matrix.f32()), rows_(matrix.type.dim(0)), columns_(matrix.type.dim(1)) {}

  double product(std::int64_t a, std::int64_t b) const {
    double sum = 0;
    for (std::int64_t row = 0; row < rows_; ++row) sum += double{at(row, a)} * double{at(row, b)};
    return sum;
  }
  void take_away(std::int64_t from, std::int64_t other, double factor) const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      at(row, from) = static_cast<float>(at(row, from) - factor * at(row, other));
    }
  }
  void multiply(std::int64_t column, double factor) const {
    for (std::int64_t row = 0; row < rows_; ++row) {
      at(row, column) = static_cast<float>(factor * at(row, column));
    }
  }
  void orthogonalize() const {
    for (std::int64_t column = 0; column < columns_; ++column) {
      const double before = std::sqrt(product(column, column));
      for (std::int64_t other = 0; other < column; ++other) {
        take_away(column, other, product(column, other));
      }
      const double length = std::sqrt(product(column, column));
      multiply(column, length > kNothingLeft * before ? 1 / length : 0);
    }
  }

 private:
  float& at(std::int64_t row, std::int64_t column) const { return data_[row * columns_ + column]; }

  float* data_;
  std::int64_t rows_;
  std::int64_t columns_;
};

KernelPointer orthogonalize(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return make_kernel([=, columns = Columns(y)](const StepContext&) {
    std::copy_n(x.f32(), x.elements(), y.f32());
    columns.orthogonalize();
  });
}

}  // namespace

KernelRows orthogonalize_kernels() { return {{Op::Orthogonalize, orthogonalize}}; }

}  // namespace regatta::cpu
