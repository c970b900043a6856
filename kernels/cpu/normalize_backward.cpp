// SPDX-License-Identifier: Apache-2.0
//
// With h = (x - mean) * inverse deviation, and sums over the m values of a group and channel:
//   dx = scale * inverse * (dy - sum dy / m - h * sum (dy h) / m);
//   dshift = sum dy, dscale = sum dy h over all groups.
// One pass takes the sums, a second writes dx as slope * (dy - offset) - pull * (x - mean).
#include <vector>

#include "kernels/cpu/channels.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/factories.h"
#include "kernels/cpu/groups.h"

namespace regatta::cpu {
namespace {

template <typename T>
class NormalizeBackward {
 public:
  explicit NormalizeBackward(const KernelRequest& request)
      : dy_(request.inputs[0].as<T>()),
        x_(request.inputs[1].as<T>()),
        scale_(request.inputs[2].f32()),
        mean_(request.inputs[3].f32()),
        inverse_(request.inputs[4].f32()),
        dx_(request.outputs[0].as<T>()),
        dscale_(request.outputs[1].f32()),
        dshift_(request.outputs[2].f32()),
        groups_(request.inputs[0].type, request.inputs[3].type.dim(0), request.threads),
        row_(groups_.channels, request.inputs[0].elements()),
        sums_(make_buffer<double>(
            static_cast<std::size_t>(2 * groups_.count * groups_.slices() * groups_.channels))),
        totals_(
            make_buffer<double>(static_cast<std::size_t>(2 * groups_.count * groups_.channels))) {
    for (std::int64_t group = 0; group < groups_.count; ++group) {
      wide_.push_back(make_buffer<float>(static_cast<std::size_t>(kConstants * row_.width)));
    }
    for (int part = 0; part < groups_.parts; ++part) scratch_.emplace_back(row_);
  }

  void operator()(const StepContext&) {
    if (groups_.sliced) {
      for (std::int64_t group = 0; group < groups_.count; ++group) widen_mean(group);
    }
    groups_.run(
        [&](std::int64_t group, int part) {
          if (!groups_.sliced) widen_mean(group);
          measure(group, part);
        },
        [&](std::int64_t group) { finish(group); },
        [&](std::int64_t group, int part) { apply(group, part); });
    for (std::int64_t c = 0; c < groups_.channels; ++c) {
      double dscale = 0, dshift = 0;
      for (std::int64_t group = 0; group < groups_.count; ++group) {
        const double* totals = totals_.get() + 2 * group * groups_.channels;
        dshift += totals[c];
        dscale += totals[groups_.channels + c];
      }
      dscale_[c] = static_cast<float>(dscale);
      dshift_[c] = static_cast<float>(dshift);
    }
  }

 private:
  /// Wide rows of constants a group.
  enum Constant : std::int64_t { kMean, kSlope, kOffset, kPull, kConstants };

  float* wide(std::int64_t group, Constant which) const {
    return wide_[static_cast<std::size_t>(group)].get() + which * row_.width;
  }

  void widen_mean(std::int64_t group) const {
    std::copy_n(mean_ + group * groups_.channels, groups_.channels, wide(group, kMean));
    repeat_channels(row_, wide(group, kMean));
  }

  void measure(std::int64_t group, int part) {
    ChannelSums<2>& scratch = scratch_[static_cast<std::size_t>(part)];
    const Range elements = groups_.elements(group, part);
    scratch.sweep(elements.begin, elements.end, [&](auto offset, auto count, float* sums) {
      const T* dy = dy_ + offset;
      const T* x = x_ + offset;
      const float* mean = wide(group, kMean);
      float* products = sums + row_.width;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        const float d = load(dy[i]);
        sums[i] += d;
        products[i] += d * (load(x[i]) - mean[i]);
      }
    });
    double* target = sums_.get() + 2 * groups_.slice(group, part) * groups_.channels;
    std::copy_n(scratch.totals(0), 2 * groups_.channels, target);
  }

  void finish(std::int64_t group) {
    const std::int64_t channels = groups_.channels;
    const auto m = static_cast<double>(groups_.rows);
    double* totals = totals_.get() + 2 * group * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0, products = 0;
      for (std::int64_t slice = 0; slice < groups_.slices(); ++slice) {
        const double* sums = sums_.get() + 2 * (group * groups_.slices() + slice) * channels;
        sum += sums[c];
        products += sums[channels + c];
      }
      const auto inverse = static_cast<double>(inverse_[group * channels + c]);
      const double slope = static_cast<double>(scale_[c]) * inverse;
      totals[c] = sum;
      totals[channels + c] = products * inverse;
      wide(group, kSlope)[c] = static_cast<float>(slope);
      wide(group, kOffset)[c] = static_cast<float>(sum / m);
      wide(group, kPull)[c] = static_cast<float>(slope * inverse * inverse * products / m);
    }
    for (Constant which : {kSlope, kOffset, kPull}) repeat_channels(row_, wide(group, which));
  }

  void apply(std::int64_t group, int part) const {
    const Range elements = groups_.elements(group, part);
    for_each_wide_row(row_, elements.begin, elements.end, [&](auto offset, auto count) {
      const T* dy = dy_ + offset;
      const T* x = x_ + offset;
      T* dx = dx_ + offset;
      const float* mean = wide(group, kMean);
      const float* slope = wide(group, kSlope);
      const float* mean_dy = wide(group, kOffset);
      const float* pull = wide(group, kPull);
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        store(dx[i], slope[i] * (load(dy[i]) - mean_dy[i]) - pull[i] * (load(x[i]) - mean[i]));
      }
    });
  }

  const T* dy_;
  const T* x_;
  const float* scale_;
  const float* mean_;
  const float* inverse_;
  T* dx_;
  float* dscale_;
  float* dshift_;
  Groups groups_;
  WideRow row_;
  Buffer<double> sums_;    ///< [group, slice, (dy, dy (x - mean)), channel]
  Buffer<double> totals_;  ///< [group, (dshift, dscale), channel]
  std::vector<Buffer<float>> wide_;
  std::vector<ChannelSums<2>> scratch_;  ///< one a part
};

}  // namespace

KernelPointer normalize_backward(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(NormalizeBackward<T>(request)); });
}

}  // namespace regatta::cpu
