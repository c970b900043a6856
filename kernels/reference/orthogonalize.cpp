// SPDX-License-Identifier: Apache-2.0
//
// Classical Gram-Schmidt in f64, twice: the second pass removes the first one's rounding errors.
#include <cmath>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

using Column = std::vector<double>;

double product(const Column& a, const Column& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The part of `column` orthogonal to `others`, at length one. `others` are orthonormal or zero.
Column rest_of(const Column& column, const std::vector<Column>& others) {
  Column rest = column;
  for (int time = 0; time < 2; ++time) {
    const Column before = rest;
    for (const Column& other : others) {
      const double along = product(before, other);
      for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= along * other[i];
    }
  }
  const double length = std::sqrt(product(rest, rest));
  const bool is_some = length > 1e-6 * std::sqrt(product(column, column));
  for (double& value : rest) value = is_some ? value / length : 0;
  return rest;
}

KernelPointer orthogonalize(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const auto rows = static_cast<std::size_t>(x.type.dim(0));
  const auto columns = static_cast<std::size_t>(x.type.dim(1));
  return make_kernel([=](const StepContext&) {
    std::vector<Column> done;
    for (std::size_t c = 0; c < columns; ++c) {
      Column column(rows);
      for (std::size_t r = 0; r < rows; ++r) column[r] = x.f32()[r * columns + c];
      done.push_back(rest_of(column, done));
      for (std::size_t r = 0; r < rows; ++r) {
        y.f32()[r * columns + c] = static_cast<float>(done.back()[r]);
      }
    }
  });
}

}  // namespace

KernelRows orthogonalize_kernels() { return {{Op::Orthogonalize, orthogonalize}}; }

}  // namespace regatta::reference
