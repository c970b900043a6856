// SPDX-License-Identifier: Apache-2.0
//
// normalize and fused_normalize: statistics of each group and channel (of a preceding pool's
// results, if there is one), running statistics, then y (normalize_apply.h). Sums are of deviations
// from a pivot, the group's first pixel, so that squares do not cancel far from zero:
//   d = x - pivot;  mean = pivot + sum d / m;  variance = sum d² / m - (sum d / m)².
#include <cmath>
#include <utility>

#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/normalize_apply.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

using Pool = Fusion::Pool;

/// Rows of the sweep are the normalised ones: x's, or those of a preceding pool.
template <typename T, int kWidth, Pool kPool>
struct Measure {
  SliceSums<2, kWidth> slices;
  Windows windows;       ///< for a preceding pool
  std::int64_t x_group;  ///< elements of x in a group
  const T* x;
  T* picked;  ///< results of a preceding pool
  std::uint8_t* positions;

  __host__ __device__ void operator()(const Block& block) const {
    slices.sum(block,
               [&](const SweepShare& mine, float(&sums)[2][kWidth]) { add_rows(mine, sums); });
  }

  __host__ __device__ void add_rows(const SweepShare& mine, float (&sums)[2][kWidth]) const {
    float pivot[kWidth];
    load_pack(x + mine.group * x_group + mine.channel, pivot);
    const auto add = [&](const float(&values)[kWidth]) {
      for (int j = 0; j < kWidth; ++j) {
        const float deviation = values[j] - pivot[j];
        sums[0][j] += deviation;
        sums[1][j] += deviation * deviation;
      }
    };
    float values[kWidth];
    if constexpr (kPool != Pool::Before) {
      const auto read = [&](std::int64_t row) {
        return pack_at<kWidth>(x + slices.sweep.offset(mine, row));
      };
      slices.sweep.template for_each_loaded<kRowsAtOnce>(
          mine, read, [&](std::int64_t, const Pack<T, kWidth>& pack) {
            unpack(pack, values);
            add(values);
          });
    } else {
      with_side(windows.side, [&](auto side) {
        slices.sweep.for_each_row(mine, [&](std::int64_t row) {
          pick<decltype(side)::value>(mine, row, values);
          add(values);
        });
      });
    }
  }

  template <int kSide>
  __host__ __device__ void pick(const SweepShare& mine, std::int64_t row,
                                float (&values)[kWidth]) const {
    const std::int64_t at = slices.sweep.offset(mine, row);
    const T* corner = x + mine.group * x_group + windows.place(row).corner + mine.channel;
    const auto best = largest<kSide, kWidth>(windows, corner, PixelItself{});
    for (int j = 0; j < kWidth; ++j) values[j] = best.pixel[j];
    store_pack(picked + at, best.pixel);
    store_positions(positions + at, best.position);
  }
};

template <typename T>
struct FinishStatistics {
  const T* x;
  std::int64_t x_group;
  std::int64_t channels;
  double count;  ///< m: values of a group's channel
  double epsilon;
  float* mean;
  float* inverse;
  float* variance;

  __host__ __device__ void operator()(std::int64_t group, std::int64_t channel,
                                      const double (&sums)[2]) const {
    const double distance = sums[0] / count;
    double spread = sums[1] / count - distance * distance;
    if (spread < 0) spread = 0;
    const double pivot = static_cast<double>(load(x[group * x_group + channel]));
    const std::int64_t at = group * channels + channel;
    mean[at] = static_cast<float>(pivot + distance);
    inverse[at] = static_cast<float>(1 / sqrt(spread + epsilon));
    variance[at] = static_cast<float>(spread);
  }
};

/// Updates a channel: running = (1 - momentum) running + momentum * mean over the groups.
struct AssignRunning {
  const float* mean;
  const float* variance;
  std::int64_t groups;
  std::int64_t channels;
  double unbiased;  ///< m / (m - 1)
  double momentum;
  float* running_mean;  ///< null in a recomputation
  float* running_variance;

  __host__ __device__ void operator()(std::int64_t channel) const {
    if (running_mean == nullptr) return;
    double means = 0, variances = 0;
    for (std::int64_t group = 0; group < groups; ++group) {
      means += static_cast<double>(mean[group * channels + channel]);
      variances += static_cast<double>(variance[group * channels + channel]);
    }
    assign(running_mean[channel], means);
    assign(running_variance[channel], variances * unbiased);
  }

  __host__ __device__ void assign(float& running, double sum) const {
    running = static_cast<float>((1 - momentum) * static_cast<double>(running) +
                                 momentum * sum / static_cast<double>(groups));
  }
};

/// The common data of all parts of a normalisation.
struct Plan {
  explicit Plan(const KernelRequest& request)
      : queue(&queue_of(request)),
        fusion(fusion_of(request.node.attributes)),
        x(request.inputs[0]),
        y(request.outputs[0]),
        groups(request.outputs[1].type.dim(0)),
        channels(x.type.dim(3)),
        rows(x.elements() / groups / channels),
        pooled_rows(y.elements() / groups / channels),
        windows(x.type, fusion.window, Windows::Cover::Complete) {}

  /// The number of a group's rows that enter its statistics.
  std::int64_t counted_rows() const { return fusion.pool == Pool::Before ? pooled_rows : rows; }

  Queue* queue;
  Fusion fusion;
  Tensor x;
  Tensor y;
  std::int64_t groups;
  std::int64_t channels;
  std::int64_t rows;         ///< of x, in a group
  std::int64_t pooled_rows;  ///< of y, in a group
  Windows windows;
};

AssignRunning running_of(const KernelRequest& request, const Plan& plan, const float* variance) {
  const auto count = static_cast<double>(plan.counted_rows());
  const auto variable = [&](std::size_t i) {
    return request.variables.empty() ? nullptr : request.variables[i]->tensor.f32();
  };
  return {.mean = request.outputs[1].f32(),
          .variance = variance,
          .groups = plan.groups,
          .channels = plan.channels,
          .unbiased = count / (count - 1),
          .momentum = request.node.attributes.real("momentum"),
          .running_mean = variable(0),
          .running_variance = variable(1)};
}

template <typename T>
FinishStatistics<T> finish_of(const KernelRequest& request, const Plan& plan, float* variance) {
  return {.x = plan.x.as<T>(),
          .x_group = plan.rows * plan.channels,
          .channels = plan.channels,
          .count = static_cast<double>(plan.counted_rows()),
          .epsilon = request.node.attributes.real("epsilon"),
          .mean = request.outputs[1].f32(),
          .inverse = request.outputs[2].f32(),
          .variance = variance};
}

template <typename T, int kWidth, Pool kPool>
Measure<T, kWidth, kPool> measure_of(const KernelRequest& request, const Plan& plan,
                                     float* partial) {
  const bool pools = kPool == Pool::Before;
  return {.slices = {.sweep = Sweep(plan.groups, plan.counted_rows(), plan.channels, kWidth),
                     .partial = partial},
          .windows = plan.windows,
          .x_group = plan.rows * plan.channels,
          .x = plan.x.as<T>(),
          .picked = pools ? request.outputs[3].template as<T>() : nullptr,
          .positions = pools ? request.outputs[4].template as<std::uint8_t>() : nullptr};
}

/// Results of a preceding pool are normalised like any x.
constexpr Pool pool_of_apply(Pool pool) { return pool == Pool::Before ? Pool::None : pool; }

template <typename T, int kWidth, Pool kPool>
NormalizeApply<T, kWidth, pool_of_apply(kPool)> apply_of(const KernelRequest& request,
                                                         const Plan& plan) {
  const bool pooled = kPool == Pool::Before, picks = kPool == Pool::After;
  return {.sweep = Sweep(plan.groups, plan.pooled_rows, plan.channels, kWidth),
          .lines = {.mean = request.outputs[1].f32(),
                    .inverse = request.outputs[2].f32(),
                    .scale = request.inputs[1].f32(),
                    .shift = request.inputs[2].f32(),
                    .channels = plan.channels},
          .activation = plan.fusion.activation,
          .windows = plan.windows,
          .x_group = plan.rows * plan.channels,
          .x = pooled ? request.outputs[3].template as<T>() : plan.x.as<T>(),
          .residual = request.inputs.size() > 3 ? request.inputs[3].template as<T>() : nullptr,
          .y = plan.y.as<T>(),
          .picked = picks ? request.outputs[3].template as<T>() : nullptr,
          .positions = picks ? request.outputs[4].template as<std::uint8_t>() : nullptr};
}

template <typename T, int kWidth, Pool kPool>
KernelPointer build(const KernelRequest& request, const Plan& plan) {
  const Sweep sweep(plan.groups, plan.counted_rows(), plan.channels, kWidth);
  const auto partial =
      std::make_shared<Scratch>(*plan.queue, SliceSums<2, kWidth>::partial_bytes(sweep));
  const auto variance = std::make_shared<Scratch>(
      *plan.queue, plan.groups * plan.channels * static_cast<std::int64_t>(sizeof(float)));
  auto* const sums = partial->template as<float>();
  const auto measure = measure_of<T, kWidth, kPool>(request, plan, sums);
  const auto finish = finish_of<T>(request, plan, variance->template as<float>());
  const AssignRunning running = running_of(request, plan, variance->template as<float>());
  const auto apply = apply_of<T, kWidth, kPool>(request, plan);
  const auto merge = merge_slices<2>(sweep, sums, finish);
  const auto last = beside(Phase{apply.sweep.blocks(), apply},
                           elements(running.channels, kSweepThreads, running));
  const auto shared = std::max(measure.slices.kSharedBytes, merge.body.kSharedBytes);
  return make_kernel(
      [=, queue = plan.queue, keep = std::pair(partial, variance)](const StepContext&) {
        enqueue_phases<kBlocksOf<T, kPool>>(*queue, kSweepThreads, shared,
                                            Phase{sweep.blocks(), measure}, merge, last);
      });
}

KernelPointer normalize(const KernelRequest& request) {
  for (const VariableStorage* running : request.variables) {
    check(running->sharing == Sharing::None, "running statistics are each replica's own");
  }
  const Plan plan(request);
  check(plan.counted_rows() > 1, "normalize: the variance of a single value is not defined");
  return with_element(plan.x.type.element, [&]<typename T>(T) {
    const auto with = [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      switch (plan.fusion.pool) {
        case Pool::Before: return build<T, kWidth, Pool::Before>(request, plan);
        case Pool::After: return build<T, kWidth, Pool::After>(request, plan);
        case Pool::None: break;
      }
      return build<T, kWidth, Pool::None>(request, plan);
    };
    const auto in = request.inputs, out = request.outputs;
    return with_width(plan.channels,
                      {address_of(in, 0), address_of(in, 1), address_of(in, 2), address_of(in, 3),
                       address_of(out, 0), address_of(out, 1), address_of(out, 2),
                       address_of(out, 3), address_of(out, 4)},
                      with);
  });
}

}  // namespace

KernelRows normalize_kernels() {
  return {{Op::Normalize, normalize}, {Op::FusedNormalize, normalize}};
}

}  // namespace regatta::cuda
