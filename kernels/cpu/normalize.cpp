// SPDX-License-Identifier: Apache-2.0
//
// normalize: statistics in one pass over each group, y in a second. Deviations are taken from a
// pivot near the mean (that of the group's first rows), so that f32 sums of their squares do not
// cancel; blocks are merged in double:
//   d = x - pivot;  mean = pivot + sum d / m;  variance = (sum d² - (sum d)² / m) / m.
#include <cmath>
#include <vector>

#include "kernels/cpu/channels.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/factories.h"
#include "kernels/cpu/groups.h"
#include "kernels/cpu/shared_update.h"
#include "kernels/graph/error.h"

namespace regatta::cpu {
namespace {

/// y = slope * (x - mean) + shift, element by element of a wide row.
struct Line {
  explicit Line(const WideRow& row)
      : mean(make_buffer<float>(static_cast<std::size_t>(row.width))),
        slope(make_buffer<float>(static_cast<std::size_t>(row.width))),
        shift(make_buffer<float>(static_cast<std::size_t>(row.width))) {}

  void repeat(const WideRow& row) const {
    for (float* values : {mean.get(), slope.get(), shift.get()}) repeat_channels(row, values);
  }

  template <typename T>
  void apply(const WideRow& row, const T* from, T* to, Range elements) const {
    for_each_wide_row(row, elements.begin, elements.end, [&](auto offset, auto count) {
      const T* x = from + offset;
      T* y = to + offset;
      const float* m = mean.get();
      const float* a = slope.get();
      const float* b = shift.get();
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) store(y[i], a[i] * (load(x[i]) - m[i]) + b[i]);
    });
  }

  Buffer<float> mean;
  Buffer<float> slope;
  Buffer<float> shift;
};

template <typename T>
class Normalize {
 public:
  explicit Normalize(const KernelRequest& request)
      : x_(request.inputs[0].as<T>()),
        scale_(request.inputs[1].f32()),
        shift_(request.inputs[2].f32()),
        y_(request.outputs[0].as<T>()),
        mean_(request.outputs[1].f32()),
        inverse_(request.outputs[2].f32()),
        running_mean_(request.variables[0]),
        running_variance_(request.variables[1]),
        epsilon_(request.node.attributes.real("epsilon")),
        momentum_(request.node.attributes.real("momentum")),
        groups_(request.inputs[0].type, request.outputs[1].type.dim(0), request.threads),
        row_(groups_.channels, request.inputs[0].elements()),
        sums_(make_buffer<double>(2 * slots(groups_.count * groups_.slices()))),
        variance_(make_buffer<double>(slots(groups_.count))) {
    check(groups_.rows > 1, "normalize: the variance of a single value is not defined");
    for (std::int64_t group = 0; group < groups_.count; ++group) {
      lines_.emplace_back(row_);
      pivots_.push_back(make_buffer<float>(static_cast<std::size_t>(row_.width)));
    }
    for (int part = 0; part < groups_.parts; ++part) scratch_.emplace_back(row_);
  }

  void operator()(const StepContext&) {
    if (groups_.sliced) {
      for (std::int64_t group = 0; group < groups_.count; ++group) find_pivot(group);
    }
    groups_.run(
        [&](std::int64_t group, int part) {
          if (!groups_.sliced) find_pivot(group);
          measure(group, part);
        },
        [&](std::int64_t group) { finish(group); },
        [&](std::int64_t group, int part) {
          line(group).apply(row_, x_, y_, groups_.elements(group, part));
        });
    update_running(*running_mean_, [&](std::int64_t g, std::int64_t c) {
      return static_cast<double>(mean_[g * groups_.channels + c]);
    });
    const auto m = static_cast<double>(groups_.rows);
    update_running(*running_variance_, [&](std::int64_t g, std::int64_t c) {
      return variance_[static_cast<std::size_t>(g * groups_.channels + c)] * m / (m - 1);
    });
  }

 private:
  static constexpr std::int64_t kPivotRows = 16;

  std::size_t slots(std::int64_t count) const {
    return static_cast<std::size_t>(count * groups_.channels);
  }
  const Line& line(std::int64_t group) const { return lines_[static_cast<std::size_t>(group)]; }
  float* pivot(std::int64_t group) const { return pivots_[static_cast<std::size_t>(group)].get(); }

  void find_pivot(std::int64_t group) const {
    const std::int64_t channels = groups_.channels, rows = std::min(kPivotRows, groups_.rows);
    const T* x = x_ + group * groups_.rows * channels;
    float* target = pivot(group);
    std::fill_n(target, channels, 0.0F);
    for (std::int64_t r = 0; r < rows; ++r) {
#pragma omp simd
      for (std::int64_t c = 0; c < channels; ++c) target[c] += load(x[r * channels + c]);
    }
    for (std::int64_t c = 0; c < channels; ++c) target[c] /= static_cast<float>(rows);
    repeat_channels(row_, target);
  }

  void measure(std::int64_t group, int part) {
    ChannelSums<2>& scratch = scratch_[static_cast<std::size_t>(part)];
    const Range elements = groups_.elements(group, part);
    scratch.sweep(elements.begin, elements.end, [&](auto offset, auto count, float* sums) {
      const T* x = x_ + offset;
      const float* pivots = pivot(group);
      float* squares = sums + row_.width;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        const float d = load(x[i]) - pivots[i];
        sums[i] += d;
        squares[i] += d * d;
      }
    });
    double* target = sums_.get() + 2 * groups_.slice(group, part) * groups_.channels;
    std::copy_n(scratch.totals(0), 2 * groups_.channels, target);
  }

  void finish(std::int64_t group) {
    const std::int64_t channels = groups_.channels;
    const auto m = static_cast<double>(groups_.rows);
    const Line& target = line(group);
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for (std::int64_t slice = 0; slice < groups_.slices(); ++slice) {
        const double* sums = sums_.get() + 2 * (group * groups_.slices() + slice) * channels;
        sum += sums[c];
        squares += sums[channels + c];
      }
      const double mean = static_cast<double>(pivot(group)[c]) + sum / m;
      const double variance = std::max(0.0, (squares - sum * sum / m) / m);
      const double inverse = 1 / std::sqrt(variance + epsilon_);
      mean_[group * channels + c] = static_cast<float>(mean);
      inverse_[group * channels + c] = static_cast<float>(inverse);
      variance_[static_cast<std::size_t>(group * channels + c)] = variance;
      target.mean[static_cast<std::size_t>(c)] = static_cast<float>(mean);
      target.slope[static_cast<std::size_t>(c)] =
          static_cast<float>(static_cast<double>(scale_[c]) * inverse);
      target.shift[static_cast<std::size_t>(c)] = shift_[c];
    }
    target.repeat(row_);
  }

  /// running = (1 - momentum) running + momentum * the mean over groups of `statistic`.
  template <typename Statistic>
  void update_running(VariableStorage& running, const Statistic& statistic) const {
    update_elements(running, 1, [&](auto access, auto begin, auto end) {
      for (std::int64_t c = begin; c < end; ++c) {
        double sum = 0;
        for (std::int64_t g = 0; g < groups_.count; ++g) sum += statistic(g, c);
        float* value = running.tensor.f32() + c;
        const double before = static_cast<double>(access.load(value));
        const double after =
            (1 - momentum_) * before + momentum_ * sum / static_cast<double>(groups_.count);
        access.store(value, static_cast<float>(after));
      }
    });
    count_update(running, nullptr, nullptr);
  }

  const T* x_;
  const float* scale_;
  const float* shift_;
  T* y_;
  float* mean_;
  float* inverse_;
  VariableStorage* running_mean_;
  VariableStorage* running_variance_;
  double epsilon_;
  double momentum_;
  Groups groups_;
  WideRow row_;
  Buffer<double> sums_;      ///< [group, slice, (sum, squares), channel]
  Buffer<double> variance_;  ///< [group, channel]
  std::vector<Line> lines_;  ///< one a group
  std::vector<Buffer<float>> pivots_;
  std::vector<ChannelSums<2>> scratch_;  ///< one a part
};

template <typename T>
class NormalizeInference {
 public:
  explicit NormalizeInference(const KernelRequest& request)
      : x_(request.inputs[0].as<T>()),
        y_(request.outputs[0].as<T>()),
        channels_(request.inputs.begin() + 1, request.inputs.end()),
        epsilon_(request.node.attributes.real("epsilon")),
        rows_(request.inputs[0].elements() / request.inputs[1].elements()),
        row_(request.inputs[1].elements(), request.inputs[0].elements()),
        line_(row_),
        parts_(parts_for(request.threads, request.inputs[0].elements())) {}

  void operator()(const StepContext&) const {
    for (std::int64_t c = 0; c < row_.channels; ++c) {
      const auto at = static_cast<std::size_t>(c);
      const double deviation = std::sqrt(static_cast<double>(channels_[3].f32()[c]) + epsilon_);
      line_.mean[at] = channels_[2].f32()[c];
      line_.slope[at] = static_cast<float>(static_cast<double>(channels_[0].f32()[c]) / deviation);
      line_.shift[at] = channels_[1].f32()[c];
    }
    line_.repeat(row_);
    parallel_parts(parts_, [&](int part) {
      const Range mine = share(rows_, parts_, part);
      line_.apply(row_, x_, y_, {mine.begin * row_.channels, mine.end * row_.channels});
    });
  }

 private:
  const T* x_;
  T* y_;
  std::vector<Tensor> channels_;  ///< scale, shift, mean, variance
  double epsilon_;
  std::int64_t rows_;
  WideRow row_;
  Line line_;
  int parts_;
};

}  // namespace

KernelPointer normalize(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(Normalize<T>(request)); });
}

KernelPointer normalize_inference(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(NormalizeInference<T>(request)); });
}

}  // namespace regatta::cpu
