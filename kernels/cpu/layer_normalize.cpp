// SPDX-License-Identifier: Apache-2.0
//
// layer_normalize of each row: z = (x - mean) r with r = 1 / sqrt(mean of (x - mean)² + epsilon),
// y = gain z; for RMSNorm, the mean is 0. Backward, with g = dy gain:
//   dx = r (g - mean of g - z mean of (g z)), without `mean of g` for RMSNorm; dgain = sum of dy z.
// A row stays in the first-level cache, so that memory is read once.
#include <cmath>
#include <vector>

#include "kernels/cpu/channels.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/panels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

/// Returns the sum of term(i, lanes) over [0, count). Four sums hide the latency of an addition.
template <typename Term>
float sum_lanes(std::int64_t count, const Term& term) {
  Lanes sums[4] = {};
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < 4; ++k) sums[k] += term(i + k * kLanes, AllLanes{});
  }
  for_each_lanes(count - i, [&](auto j, auto lanes) {
    const Lanes last = term(i + j, lanes);
    sums[0] += load_lanes(reinterpret_cast<const float*>(&last), lanes);  // the rest may not be 0
  });
  return sum_of_lanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

KernelPointer layer_normalize(const KernelRequest& request) {
  const Tensor x = request.inputs[0], gain = request.inputs[1], y = request.outputs[0];
  const Tensor means = request.outputs[1], inverses = request.outputs[2];
  const bool centered = request.node.attributes.integer("center") != 0;
  const auto epsilon = static_cast<float>(request.node.attributes.real("epsilon"));
  const std::int64_t rows = x.type.rows(), columns = x.type.columns();
  const int parts = parts_for(request.threads, x.elements());
  const auto normalize = [=]<typename T>(const T* from, T* to, std::int64_t row) {
    const float* gains = gain.f32();
    const auto value = [&](auto i, auto lanes) { return load_lanes(from + i, lanes); };
    const auto count = static_cast<float>(columns);
    const float mean = centered ? sum_lanes(columns, value) / count : 0.0F;
    const float squares = sum_lanes(columns, [&](auto i, auto lanes) {
      const Lanes deviation = value(i, lanes) - mean;
      return deviation * deviation;
    });
    const float inverse = 1 / std::sqrt(squares / count + epsilon);
    for_each_lanes(columns, [&](auto i, auto lanes) {
      const Lanes z = (value(i, lanes) - mean) * inverse;
      store_lanes(to + i, load_lanes(gains + i, lanes) * z, lanes);
    });
    means.f32()[row] = mean;
    inverses.f32()[row] = inverse;
  };
  return with_element(x.type.element, [=]<typename T>(T) {
    return make_kernel([=](const StepContext&) {
      parallel_parts(parts, [&](int part) {
        const Range mine = share(rows, parts, part);
        for (std::int64_t row = mine.begin; row < mine.end; ++row) {
          normalize(x.as<T>() + row * columns, y.as<T>() + row * columns, row);
        }
      });
    });
  });
}

template <typename T>
class LayerNormalizeBackward {
 public:
  explicit LayerNormalizeBackward(const KernelRequest& request)
      : dy_(request.inputs[0].as<T>()),
        x_(request.inputs[1].as<T>()),
        gain_(request.inputs[2].f32()),
        means_(request.inputs[3].f32()),
        inverses_(request.inputs[4].f32()),
        dx_(request.outputs[0].as<T>()),
        dgain_(request.outputs[1].f32()),
        rows_(request.inputs[1].type.rows()),
        columns_(request.inputs[1].type.columns()),
        centered_(request.node.attributes.integer("center") != 0) {
    const auto parts = static_cast<std::size_t>(parts_for(request.threads, rows_ * columns_));
    while (sums_.size() < parts) sums_.emplace_back(WideRow(columns_, rows_ * columns_));
  }

  void operator()(const StepContext&) {
    const auto parts = static_cast<int>(sums_.size());
    parallel_parts(parts, [&](int part) {
      const Range mine = share(rows_, parts, part);
      const auto add = [&](auto offset, auto count, float* sums) {
        for (std::int64_t at = 0; at < count; at += columns_) {
          go_back((offset + at) / columns_, sums + at);
        }
      };
      sums_[static_cast<std::size_t>(part)].sweep(mine.begin * columns_, mine.end * columns_, add);
    });
    for (std::int64_t c = 0; c < columns_; ++c) {
      double total = 0;
      for (const ChannelSums<1>& part : sums_) total += part.totals(0)[c];
      dgain_[c] = static_cast<float>(total);
    }
  }

 private:
  /// Computes dx of a row and adds dy z to `sums`.
  void go_back(std::int64_t row, float* sums) const {
    const T* dy = dy_ + row * columns_;
    const T* x = x_ + row * columns_;
    const float* gain = gain_;
    T* dx = dx_ + row * columns_;
    const float mean = means_[row], inverse = inverses_[row];
    const auto count = static_cast<float>(columns_);
    const auto g = [&](auto i, auto lanes) {
      return load_lanes(dy + i, lanes) * load_lanes(gain + i, lanes);
    };
    const auto z = [&](auto i, auto lanes) { return (load_lanes(x + i, lanes) - mean) * inverse; };
    const float products = sum_lanes(columns_, [&](auto i, auto lanes) {
      const Lanes product = load_lanes(dy + i, lanes) * z(i, lanes);
      store_lanes(sums + i, load_lanes(sums + i, lanes) + product, lanes);
      return product * load_lanes(gain + i, lanes);
    });
    const float mean_product = products / count;
    const float mean_g = centered_ ? sum_lanes(columns_, g) / count : 0.0F;
    for_each_lanes(columns_, [&](auto i, auto lanes) {
      store_lanes(dx + i, inverse * (g(i, lanes) - mean_g - z(i, lanes) * mean_product), lanes);
    });
  }

  const T* dy_;
  const T* x_;
  const float* gain_;
  const float* means_;
  const float* inverses_;
  T* dx_;
  float* dgain_;
  std::int64_t rows_;
  std::int64_t columns_;
  bool centered_;
  std::vector<ChannelSums<1>> sums_;  ///< of dy z, one for each part
};

KernelPointer layer_normalize_backward(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return make_kernel(LayerNormalizeBackward<T>(request));
  });
}

}  // namespace

KernelRows layer_normalize_kernels() {
  return {{Op::LayerNormalize, layer_normalize},
          {Op::LayerNormalizeBackward, layer_normalize_backward}};
}

}  // namespace regatta::cpu
