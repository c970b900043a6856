// SPDX-License-Identifier: Apache-2.0
//
// squared_norm: sum of the squares of all elements, in double: each part adds up its share of them,
// then the parts are added in order. clip_divisor: max(1, (sqrt(x) + 1e-6) / limit).
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/parallel.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

class SquaredNorm {
 public:
  explicit SquaredNorm(const KernelRequest& request)
      : values_(request.inputs.begin(), request.inputs.end()), y_(request.outputs[0].f32()) {
    for (const Tensor& x : values_) count_ += x.elements();
    sums_.resize(static_cast<std::size_t>(parts_for(request.threads, count_)));
  }

  void operator()(const StepContext&) {
    const auto parts = static_cast<int>(sums_.size());
    parallel_parts(parts, [&](int part) {
      sums_[static_cast<std::size_t>(part)] = sum_of(share(count_, parts, part));
    });
    double total = 0;
    for (const double sum : sums_) total += sum;
    *y_ = static_cast<float>(total);
  }

 private:
  double sum_of(const Range& mine) const {
    double total = 0;
    std::int64_t start = 0;
    for (const Tensor& tensor : values_) {
      const std::int64_t count = tensor.elements();
      const std::int64_t begin = std::max(mine.begin - start, std::int64_t{0});
      const std::int64_t end = std::min(mine.end - start, count);
      const float* x = tensor.f32();
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = begin; i < end; ++i) {
        sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      }
      total += sum;
      start += count;
    }
    return total;
  }

  std::vector<Tensor> values_;
  float* y_;
  std::int64_t count_ = 0;
  std::vector<double> sums_;  ///< one for each part
};

KernelPointer squared_norm(const KernelRequest& request) {
  return make_kernel(SquaredNorm(request));
}

KernelPointer clip_divisor(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const auto limit = static_cast<float>(request.node.attributes.real("limit"));
  return make_kernel([=](const StepContext&) {
    const float divisor = (std::sqrt(*x.f32()) + 1e-6F) / limit;
    *y.f32() = divisor < 1 ? 1.0F : divisor;  // this order keeps a NaN
  });
}

}  // namespace

KernelRows clip_kernels() {
  return {{Op::SquaredNorm, squared_norm}, {Op::ClipDivisor, clip_divisor}};
}

}  // namespace regatta::cpu
