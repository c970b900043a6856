// SPDX-License-Identifier: Apache-2.0
//
// fused_bias: y = a(x + b), in one pass. Its backward op: dz = dy times the activation's derivative
// at x + b, db = sum of dz over all rows, and dx = dz if it is an output, in one pass.
#include <vector>

#include "kernels/cpu/element.h"
#include "kernels/cpu/line.h"
#include "kernels/cpu/parallel.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

/// b repeated to a wide row.
class WideBias {
 public:
  WideBias(const float* b, const WideRow& row)
      : b_(b), row_(row), wide_(make_buffer<float>(static_cast<std::size_t>(row.width))) {}

  void read() const {
    std::copy_n(b_, row_.channels, wide_.get());
    repeat_channels(row_, wide_.get());
  }
  Lanes at(std::int64_t i) const { return load_lanes(wide_.get() + i, AllLanes{}); }

 private:
  const float* b_;
  WideRow row_;
  Buffer<float> wide_;
};

/// The elements of a part, whole rows.
Range part_of(const Tensor& x, std::int64_t channels, int parts, int part) {
  const Range rows = share(x.elements() / channels, parts, part);
  return {rows.begin * channels, rows.end * channels};
}

template <typename T, typename Function>
class FusedBias {
 public:
  explicit FusedBias(const KernelRequest& request)
      : x_(request.inputs[0]),
        y_(request.outputs[0].as<T>()),
        row_(WideRow::of_registers(request.inputs[1].elements())),
        bias_(request.inputs[1].f32(), row_),
        parts_(parts_for(request.threads, x_.elements())) {}

  void operator()(const StepContext&) const {
    bias_.read();
    parallel_parts(parts_, [&](int part) {
      const T* x = x_.as<T>();
      for_each_row_lanes(row_, part_of(x_, row_.channels, parts_, part),
                         [&](auto at, auto i, auto lanes) {
                           const Lanes z = load_lanes(x + at, lanes) + bias_.at(i);
                           store_lanes(y_ + at, Function::template value<T>(z), lanes);
                         });
    });
  }

 private:
  Tensor x_;
  T* y_;
  WideRow row_;
  WideBias bias_;
  int parts_;
};

template <typename T, typename Function>
class FusedBiasBackward {
 public:
  explicit FusedBiasBackward(const KernelRequest& request)
      : dy_(request.inputs[0].as<T>()),
        x_(request.inputs[1]),
        db_(request.outputs[0].f32()),
        dx_(request.outputs.size() > 1 ? request.outputs[1].as<T>() : nullptr),
        row_(WideRow::of_registers(request.outputs[0].elements())),
        bias_(request.inputs[2].f32(), row_),
        parts_(parts_for(request.threads, x_.elements())) {
    for (int part = 0; part < parts_; ++part) sums_.emplace_back(row_);
  }

  void operator()(const StepContext&) {
    bias_.read();
    parallel_parts(parts_, [&](int part) {
      const Range all = part_of(x_, row_.channels, parts_, part);
      sums_[static_cast<std::size_t>(part)].sweep(
          all.begin, all.end,
          [&](auto offset, auto count, float* sums) { add(offset, count, sums); });
    });
    for (std::int64_t c = 0; c < row_.channels; ++c) {
      double total = 0;
      for (const ChannelSums<1>& part : sums_) total += part.totals(0)[c];
      db_[c] = static_cast<float>(total);
    }
  }

 private:
  void add(std::int64_t offset, std::int64_t count, float* sums) const {
    const T* x = x_.as<T>();
    for_each_lanes(count, [&](auto i, auto lanes) {
      const Lanes z = load_lanes(x + offset + i, lanes) + bias_.at(i);
      const Lanes dz = Function::template backward<T>(load_lanes(dy_ + offset + i, lanes), z);
      store_lanes(sums + i, load_lanes(sums + i, lanes) + dz, lanes);
      if (dx_ != nullptr) store_lanes(dx_ + offset + i, dz, lanes);
    });
  }

  const T* dy_;
  Tensor x_;
  float* db_;
  T* dx_;
  WideRow row_;
  WideBias bias_;
  int parts_;
  std::vector<ChannelSums<1>> sums_;  ///< one for each part
};

KernelPointer fused_bias(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return with_activation(fusion.activation, [&]<typename Function>(Function) {
      return make_kernel(FusedBias<T, Function>(request));
    });
  });
}

KernelPointer fused_bias_backward(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return with_activation(fusion.activation, [&]<typename Function>(Function) {
      return make_kernel(FusedBiasBackward<T, Function>(request));
    });
  });
}

}  // namespace

KernelRows fused_bias_kernels() {
  return {{Op::FusedBias, fused_bias}, {Op::FusedBiasBackward, fused_bias_backward}};
}

}  // namespace regatta::cpu
