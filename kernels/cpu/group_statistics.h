// SPDX-License-Identifier: Apache-2.0
//
// Mean and variance of each group and channel in one pass, and the running statistics. Deviations
// are taken from a pivot near the mean (the mean of the group's first rows), so that the f32 sums
// of their squares do not cancel; blocks are merged in double:
//   d = x - pivot;  mean = pivot + sum d / m;  variance = (sum d² - (sum d)² / m) / m.
// Threads: parts of a group may be added concurrently; everything else runs on one thread.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/cpu/groups.h"
#include "kernels/cpu/line.h"
#include "kernels/cpu/shared_update.h"

namespace regatta::cpu {

class GroupStatistics {
 public:
  /// `request` may be that of any normalisation op: all have scale, shift, the outputs mean and
  /// inverse deviation, and the running statistics at the same positions.
  GroupStatistics(const KernelRequest& request, const Groups& groups)
      : groups_(groups),
        row_(WideRow::of_registers(groups.channels)),
        scale_(request.inputs[1].f32()),
        shift_(request.inputs[2].f32()),
        mean_(request.outputs[1].f32()),
        inverse_(request.outputs[2].f32()),
        running_(request.variables.begin(), request.variables.end()),
        epsilon_(request.node.attributes.real("epsilon")),
        momentum_(request.node.attributes.real("momentum")),
        sums_(make_buffer<double>(2 * slots(groups.count * groups.slices()))),
        variance_(make_buffer<double>(slots(groups.count))) {
    for (std::int64_t group = 0; group < groups.count; ++group) {
      lines_.emplace_back(row_);
      pivots_.push_back(make_buffer<float>(static_cast<std::size_t>(row_.width)));
    }
    for (int part = 0; part < groups.parts; ++part) scratch_.emplace_back(row_);
  }

  const Line& line(std::int64_t group) const { return lines_[static_cast<std::size_t>(group)]; }

  /// Sets a group's pivot to the mean of its first rows, for each channel.
  template <typename T>
  void find_pivot(std::int64_t group, const T* x, std::int64_t rows) const {
    const std::int64_t channels = groups_.channels, used = std::min(kPivotRows, rows);
    float* target = pivot(group);
    std::fill_n(target, channels, 0.0F);
    for (std::int64_t r = 0; r < used; ++r) {
#pragma omp simd
      for (std::int64_t c = 0; c < channels; ++c) target[c] += load(x[r * channels + c]);
    }
    for (std::int64_t c = 0; c < channels; ++c) target[c] /= static_cast<float>(used);
    repeat_channels(row_, target);
  }

  void begin(int part) { scratch_[static_cast<std::size_t>(part)].clear(); }

  template <typename T>
  void add(std::int64_t group, int part, const T* x, const Range& elements) {
    const float* pivots = pivot(group);
    scratch_[static_cast<std::size_t>(part)].add(
        elements.begin, elements.end, [&](auto offset, auto count, float* sums) {
          float* squares = sums + row_.width;
          for_each_lanes(count, [&](auto i, auto lanes) {
            Lanes d = load_lanes(x + offset + i, lanes) - load_lanes(pivots + i, AllLanes{});
            store_lanes(sums + i, load_lanes(sums + i, lanes) + d, lanes);
            store_lanes(squares + i, load_lanes(squares + i, lanes) + d * d, lanes);
          });
        });
  }

  void end(std::int64_t group, int part) {
    double* target = sums_.get() + 2 * slots(groups_.slice(group, part));
    std::copy_n(scratch_[static_cast<std::size_t>(part)].totals(0), 2 * groups_.channels, target);
  }

  /// Computes a group's mean and inverse deviation, writes them to the outputs and sets the group's
  /// line. Call it after end() was called for all parts of the group.
  void finish(std::int64_t group) {
    const std::int64_t channels = groups_.channels;
    const auto m = static_cast<double>(groups_.rows);
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for (std::int64_t slice = 0; slice < groups_.slices(); ++slice) {
        const double* sums = sums_.get() + 2 * slots(group * groups_.slices() + slice);
        sum += sums[c];
        squares += sums[channels + c];
      }
      const double mean = static_cast<double>(pivot(group)[c]) + sum / m;
      const double variance = std::max(0.0, (squares - sum * sum / m) / m);
      // Rounded before its use, so that the backward op uses the same line.
      const auto inverse = static_cast<float>(1 / std::sqrt(variance + epsilon_));
      mean_[group * channels + c] = static_cast<float>(mean);
      inverse_[group * channels + c] = inverse;
      variance_[slots(group) + static_cast<std::size_t>(c)] = variance;
      lines_[static_cast<std::size_t>(group)].set(c, static_cast<float>(mean), scale_[c] * inverse,
                                                  shift_[c]);
    }
    line(group).repeat();
  }

  /// Updates the running statistics: running = (1 - momentum) running + momentum * mean over
  /// groups. Call it after finish() of all groups.
  void update_running() const {
    if (running_.empty()) return;
    update(*running_[0], [&](std::int64_t g, std::int64_t c) {
      return static_cast<double>(mean_[g * groups_.channels + c]);
    });
    const auto m = static_cast<double>(groups_.rows);
    update(*running_[1], [&](std::int64_t g, std::int64_t c) {
      return variance_[slots(g) + static_cast<std::size_t>(c)] * m / (m - 1);
    });
  }

 private:
  static constexpr std::int64_t kPivotRows = 16;

  std::size_t slots(std::int64_t count) const {
    return static_cast<std::size_t>(count * groups_.channels);
  }
  float* pivot(std::int64_t group) const { return pivots_[static_cast<std::size_t>(group)].get(); }

  template <typename Statistic>
  void update(VariableStorage& running, const Statistic& statistic) const {
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

  Groups groups_;
  WideRow row_;
  const float* scale_;
  const float* shift_;
  float* mean_;
  float* inverse_;
  std::vector<VariableStorage*> running_;  ///< running mean and variance; empty in a recomputation
  double epsilon_;
  double momentum_;
  Buffer<double> sums_;      ///< [group, slice, (sum, squares), channel]
  Buffer<double> variance_;  ///< [group, channel]
  std::vector<Line> lines_;  ///< one for each group
  std::vector<Buffer<float>> pivots_;
  std::vector<ChannelSums<2>> scratch_;  ///< one for each part
};

}  // namespace regatta::cpu
