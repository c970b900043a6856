// SPDX-License-Identifier: Apache-2.0
//
// bias: y = x + b along the last dimension; db = sum of dy over all rows. b and db are f32.
// positions: a bias whose channels are all elements of a sequence.
#include <vector>

#include "kernels/cpu/channels.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/parallel.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

template <typename T>
class Bias {
 public:
  explicit Bias(const KernelRequest& request)
      : x_(request.inputs[0].as<T>()),
        b_(request.inputs[1].f32()),
        y_(request.outputs[0].as<T>()),
        count_(request.outputs[0].elements()),
        row_(request.inputs[1].elements(), count_),
        wide_(make_buffer<float>(static_cast<std::size_t>(row_.width))),
        parts_(parts_for(request.threads, count_)) {}

  void operator()(const StepContext&) const {
    float* wide = wide_.get();
    for (std::int64_t c = 0; c < row_.channels; ++c) wide[c] = b_[c];
    repeat_channels(row_, wide);
    const std::int64_t rows = count_ / row_.channels;
    parallel_parts(parts_, [&](int part) {
      const Range mine = share(rows, parts_, part);
      for_each_wide_row(row_, mine.begin * row_.channels, mine.end * row_.channels,
                        [&](auto offset, auto count) { add_row(offset, count); });
    });
  }

 private:
  void add_row(std::int64_t offset, std::int64_t count) const {
    const T* x = x_ + offset;
    T* y = y_ + offset;
    const float* wide = wide_.get();
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) store(y[i], load(x[i]) + wide[i]);
  }

  const T* x_;
  const float* b_;
  T* y_;
  std::int64_t count_;
  WideRow row_;
  Buffer<float> wide_;  ///< b, repeated
  int parts_;
};

template <typename T>
class BiasBackward {
 public:
  explicit BiasBackward(const KernelRequest& request)
      : dy_(request.inputs[0].as<T>()),
        db_(request.outputs[0].f32()),
        row_(request.outputs[0].elements(), request.inputs[0].elements()),
        rows_(request.inputs[0].elements() / row_.channels),
        parts_(parts_for(request.threads, request.inputs[0].elements())) {
    for (int part = 0; part < parts_; ++part) sums_.emplace_back(row_);
  }

  void operator()(const StepContext&) {
    parallel_parts(parts_, [&](int part) {
      const Range mine = share(rows_, parts_, part);
      sums_[static_cast<std::size_t>(part)].sweep(mine.begin * row_.channels,
                                                  mine.end * row_.channels,
                                                  [&](auto offset, auto count, float* sums) {
                                                    const T* dy = dy_ + offset;
#pragma omp simd
                                                    for (std::int64_t i = 0; i < count; ++i)
                                                      sums[i] += load(dy[i]);
                                                  });
    });
    for (std::int64_t c = 0; c < row_.channels; ++c) {
      double total = 0;
      for (const ChannelSums<1>& part : sums_) total += part.totals(0)[c];
      db_[c] = static_cast<float>(total);
    }
  }

 private:
  const T* dy_;
  float* db_;
  WideRow row_;
  std::int64_t rows_;
  int parts_;
  std::vector<ChannelSums<1>> sums_;  ///< one for each part
};

KernelPointer bias(const KernelRequest& request) {
  if (request.inputs[1].type.element != ElementType::F32) return nullptr;
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(Bias<T>(request)); });
}

KernelPointer bias_backward(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(BiasBackward<T>(request)); });
}

}  // namespace

KernelRows bias_kernels() {
  return {{Op::Bias, bias},
          {Op::BiasBackward, bias_backward},
          {Op::Positions, bias},
          {Op::PositionsBackward, bias_backward}};
}

}  // namespace regatta::cpu
