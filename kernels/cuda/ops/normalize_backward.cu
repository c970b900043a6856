// SPDX-License-Identifier: Apache-2.0
//
// normalize_backward and fused_normalize_backward. With s the normalised values (those picked by a
// following pool, if there is one), z and h as in normalize_line.h, dz = dy times the activation's
// derivative at z, and sums over the m values of a group's channel:
//   dshift = sum dz, dscale = sum dz h;  dx = scale * inverse * (dz - sum dz / m - h * sum dz h /
//   m).
// A following pool makes dz zero at the pixels that it did not pick, so sums over the picked ones
// suffice; a preceding pool makes dx zero at those pixels.
#include <tuple>

#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/activation_function.h"
#include "kernels/cuda/ops/normalize_line.h"
#include "kernels/cuda/ops/sweep.h"
#include "kernels/cuda/ops/windows.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

using Pool = Fusion::Pool;

/// A pack of dy and of s.
template <typename T, int kWidth>
struct Pair {
  Pack<T, kWidth> dy, s;
};

template <int kWidth, typename T>
__host__ __device__ inline Pair<T, kWidth> read_pair(const T* dy, const T* s, std::int64_t at) {
  return {.dy = pack_at<kWidth>(dy + at), .s = pack_at<kWidth>(s + at)};
}

/// Computes dz; `value` is s.
template <Fusion::Activation kActivation, typename T, int kWidth>
__host__ __device__ inline void dz_of(const Line<kWidth>& line, const Pair<T, kWidth>& pair,
                                      float (&dz)[kWidth], float (&value)[kWidth]) {
  unpack(pair.dy, dz);
  unpack(pair.s, value);
  for (int j = 0; j < kWidth; ++j) {
    dz[j] = activate_backward<kActivation>(dz[j], line.z(value[j], j));
  }
}

/// The sweep's rows are those of dy.
template <typename T, int kWidth>
struct MeasureBackward {
  SliceSums<2, kWidth> slices;
  Lines lines;
  Fusion::Activation activation;
  const T* dy;
  const T* s;

  __host__ __device__ void operator()(const Block& block) const {
    slices.sum(block, [&](const SweepShare& mine, float(&sums)[2][kWidth]) {
      with_activation(activation, [&](auto kind) { add_rows<decltype(kind)::value>(mine, sums); });
    });
  }

  template <Fusion::Activation kActivation>
  __host__ __device__ void add_rows(const SweepShare& mine, float (&sums)[2][kWidth]) const {
    const Line<kWidth> line = lines.of<kWidth>(mine.group, mine.channel);
    const auto read = [&](std::int64_t row) {
      return read_pair<kWidth>(dy, s, slices.sweep.offset(mine, row));
    };
    slices.sweep.template for_each_loaded<kPairsAtOnce>(
        mine, read, [&](std::int64_t, const Pair<T, kWidth>& pair) {
          float dz[kWidth], value[kWidth];
          dz_of<kActivation>(line, pair, dz, value);
          for (int j = 0; j < kWidth; ++j) {
            sums[0][j] += dz[j];
            sums[1][j] += dz[j] * line.from_mean(value[j], j);
          }
        });
    for (int j = 0; j < kWidth; ++j) sums[1][j] *= line.inverse[j];  // dz h
  }
};

/// Shapes: sums, means [groups, 2, channels].
struct StoreGroupSums {
  double* sums;
  float* means;
  std::int64_t channels;
  double count;  ///< m

  __host__ __device__ void operator()(std::int64_t group, std::int64_t channel,
                                      const double (&totals)[2]) const {
    for (int k = 0; k < 2; ++k) {
      const std::int64_t at = (2 * group + k) * channels + channel;
      sums[at] = totals[k];
      means[at] = static_cast<float>(totals[k] / count);
    }
  }
};

struct AddGroups {
  const double* sums;
  std::int64_t groups;
  std::int64_t channels;
  float* dscale;
  float* dshift;

  __host__ __device__ void operator()(std::int64_t channel) const {
    double shift = 0, scale = 0;
    for (std::int64_t group = 0; group < groups; ++group) {
      shift += sums[2 * group * channels + channel];
      scale += sums[(2 * group + 1) * channels + channel];
    }
    dshift[channel] = static_cast<float>(shift);
    dscale[channel] = static_cast<float>(scale);
  }
};

/// Coefficients for a thread's channels that give dx from dz and s with one product and one sum
/// less than the formula above.
template <int kWidth>
struct Slope {
  Line<kWidth> line;
  float constant[kWidth];  ///< factor * mean of dz
  float of_s[kWidth];      ///< factor * inverse deviation * mean of dz h

  /// Takes the means of dz and of dz h.
  __host__ __device__ Slope(const Line<kWidth>& l, const float* dz_mean, const float* dz_h_mean)
      : line(l) {
    load_pack(dz_mean, constant);
    load_pack(dz_h_mean, of_s);
    for (int j = 0; j < kWidth; ++j) {
      constant[j] *= line.factor[j];
      of_s[j] *= line.factor[j] * line.inverse[j];
    }
  }
  __host__ __device__ float dx(float dz, float s, int j) const {
    return line.factor[j] * dz - constant[j] - line.from_mean(s, j) * of_s[j];
  }
};

/// The sweep's rows are those of x or, with a pool, all windows of x.
template <typename T, int kWidth, Pool kPool>
struct Apply {
  Sweep sweep;
  Lines lines;
  Fusion::Activation activation;
  Windows windows;
  std::int64_t x_group;       ///< elements of x in a group
  std::int64_t pooled_group;  ///< elements of dy in a group
  const float* means;         ///< as StoreGroupSums leaves them
  const T* dy;
  const T* s;
  const std::uint8_t* positions;
  const T* x;  ///< for a following pool
  T* dx;

  __host__ __device__ void operator()(const Block& block) const {
    block.each([&](int thread) {
      const SweepShare mine = sweep.template share<kWidth>(block.index, thread);
      if (mine.begin >= mine.end) return;
      with_activation(activation, [&](auto kind) { apply<decltype(kind)::value>(mine); });
    });
  }

  template <Fusion::Activation kActivation>
  __host__ __device__ void apply(const SweepShare& mine) const {
    const float* from = means + 2 * mine.group * sweep.channels + mine.channel;
    const Slope<kWidth> slope(lines.of<kWidth>(mine.group, mine.channel), from,
                              from + sweep.channels);
    if constexpr (kPool == Pool::None) {
      const auto read = [&](std::int64_t row) {
        return read_pair<kWidth>(dy, s, sweep.offset(mine, row));
      };
      sweep.for_each_loaded<kPairsAtOnce>(mine, read,
                                          [&](std::int64_t row, const Pair<T, kWidth>& pair) {
                                            float dz[kWidth], value[kWidth];
                                            dz_of<kActivation>(slope.line, pair, dz, value);
                                            for (int j = 0; j < kWidth; ++j)
                                              value[j] = slope.dx(dz[j], value[j], j);
                                            store_pack(dx + sweep.offset(mine, row), value);
                                          });
    } else {
      with_side(windows.side, [&](auto side) {
        sweep.for_each_row(mine, [&](std::int64_t row) {
          apply_window<kActivation, decltype(side)::value>(slope, mine, windows.place(row));
        });
      });
    }
  }

  template <Fusion::Activation kActivation, int kSide>
  __host__ __device__ void apply_window(const Slope<kWidth>& slope, const SweepShare& mine,
                                        const WindowPlace& place) const {
    float dz[kWidth] = {}, value[kWidth] = {}, picked[kWidth] = {};
    std::int32_t chosen[kWidth];
    for (int j = 0; j < kWidth; ++j) chosen[j] = -1;
    if (place.complete) {
      const std::int64_t at = mine.group * pooled_group + place.pooled + mine.channel;
      dz_of<kActivation>(slope.line, read_pair<kWidth>(dy, s, at), dz, value);
      const auto where = load_positions<kWidth>(positions + at);
      for (int j = 0; j < kWidth; ++j) {
        chosen[j] = where.at[j];
        if constexpr (kPool == Pool::Before) picked[j] = slope.dx(dz[j], value[j], j);
      }
    }
    const std::int64_t corner = mine.group * x_group + place.corner + mine.channel;
    const std::int32_t side = kSide > 0 ? kSide : windows.side;
    for (std::int32_t r = 0; r < side; ++r) {
      for (std::int32_t c = 0; c < side; ++c) {
        if (r >= place.height || c >= place.width) continue;
        const std::int64_t at = corner + windows.pixel(r, c);
        const std::int32_t position = r * side + c;
        if constexpr (kPool == Pool::After) load_pack(x + at, value);
        for (int j = 0; j < kWidth; ++j) {
          const bool here = chosen[j] == position;
          if constexpr (kPool == Pool::After) {
            value[j] = slope.dx(here ? dz[j] : 0.0F, value[j], j);
          } else {
            value[j] = here ? picked[j] : 0.0F;
          }
        }
        store_pack(dx + at, value);
      }
    }
  }
};

/// The common data of both passes. Inputs of the single op: dy, x, scale, mean, inverse deviation;
/// of the fused op: dy, s, scale, shift, mean, inverse deviation [, positions [, x]].
struct BackwardPlan {
  explicit BackwardPlan(const KernelRequest& request)
      : queue(&queue_of(request)),
        fusion(fusion_of(request.node.attributes)),
        dy(request.inputs[0]),
        s(request.inputs[1]),
        dx(request.outputs[0]) {
    const std::size_t fused = request.node.op == Op::FusedNormalizeBackward ? 1 : 0;
    const Tensor mean = request.inputs[3 + fused];
    groups = mean.type.dim(0);
    channels = mean.type.dim(1);
    lines = {.mean = mean.f32(),
             .inverse = request.inputs[4 + fused].f32(),
             .scale = request.inputs[2].f32(),
             .shift = fused == 1 ? request.inputs[3].f32() : nullptr,
             .channels = channels};
    if (fusion.pool != Pool::None) positions = request.inputs[6].as<std::uint8_t>();
    if (fusion.pool == Pool::After) x = request.inputs[7];
    windows = Windows(dx.type, fusion.window, Windows::Cover::All);
  }

  std::int64_t dy_rows() const { return dy.elements() / groups / channels; }
  std::int64_t dx_rows() const { return dx.elements() / groups / channels; }
  /// Rows of a group in the second pass.
  std::int64_t applied_rows() const {
    if (fusion.pool == Pool::None) return dx_rows();
    return dx.type.dim(0) / groups * windows.of_an_image();
  }

  Queue* queue;
  Fusion fusion;
  Tensor dy, s, dx, x;
  const std::uint8_t* positions = nullptr;
  std::int64_t groups = 0, channels = 0;
  Lines lines;
  Windows windows;
};

template <typename T, int kWidth, Pool kPool>
Apply<T, kWidth, kPool> apply_of(const BackwardPlan& plan, const float* means) {
  return {.sweep = Sweep(plan.groups, plan.applied_rows(), plan.channels, kWidth),
          .lines = plan.lines,
          .activation = plan.fusion.activation,
          .windows = plan.windows,
          .x_group = plan.dx_rows() * plan.channels,
          .pooled_group = plan.dy_rows() * plan.channels,
          .means = means,
          .dy = plan.dy.as<T>(),
          .s = plan.s.as<T>(),
          .positions = plan.positions,
          .x = plan.x.as<T>(),
          .dx = plan.dx.as<T>()};
}

template <typename T, int kWidth, Pool kPool>
KernelPointer build_backward(const KernelRequest& request, const BackwardPlan& plan) {
  const Sweep sweep(plan.groups, plan.dy_rows(), plan.channels, kWidth);
  const auto partial =
      std::make_shared<Scratch>(*plan.queue, SliceSums<2, kWidth>::partial_bytes(sweep));
  const auto sums = std::make_shared<Scratch>(
      *plan.queue, 2 * plan.groups * plan.channels * static_cast<std::int64_t>(sizeof(double)));
  const auto means = std::make_shared<Scratch>(
      *plan.queue, 2 * plan.groups * plan.channels * static_cast<std::int64_t>(sizeof(float)));
  const MeasureBackward<T, kWidth> measure{
      .slices = {.sweep = sweep, .partial = partial->template as<float>()},
      .lines = plan.lines,
      .activation = plan.fusion.activation,
      .dy = plan.dy.as<T>(),
      .s = plan.s.as<T>()};
  const std::int64_t counted = kPool == Pool::Before ? plan.dy_rows() : plan.dx_rows();
  const StoreGroupSums finish{.sums = sums->template as<double>(),
                              .means = means->template as<float>(),
                              .channels = plan.channels,
                              .count = static_cast<double>(counted)};
  const AddGroups add{.sums = finish.sums,
                      .groups = plan.groups,
                      .channels = plan.channels,
                      .dscale = request.outputs[1].f32(),
                      .dshift = request.outputs[2].f32()};
  const auto apply = apply_of<T, kWidth, kPool>(plan, finish.means);
  const auto merge = merge_slices<2>(sweep, measure.slices.partial, finish);
  const auto last =
      beside(Phase{apply.sweep.blocks(), apply}, elements(add.channels, kSweepThreads, add));
  const auto shared = std::max(measure.slices.kSharedBytes, merge.body.kSharedBytes);
  return make_kernel(
      [=, queue = plan.queue, keep = std::tuple(partial, sums, means)](const StepContext&) {
        enqueue_phases<kBlocksOf<T, kPool>>(*queue, kSweepThreads, shared,
                                            Phase{sweep.blocks(), measure}, merge, last);
      });
}

KernelPointer normalize_backward(const KernelRequest& request) {
  const BackwardPlan plan(request);
  return with_element(plan.dy.type.element, [&]<typename T>(T) {
    const auto with = [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      switch (plan.fusion.pool) {
        case Pool::Before: return build_backward<T, kWidth, Pool::Before>(request, plan);
        case Pool::After: return build_backward<T, kWidth, Pool::After>(request, plan);
        case Pool::None: break;
      }
      return build_backward<T, kWidth, Pool::None>(request, plan);
    };
    // Gradients of scale and shift are stored one by one: in a bucket they may have any alignment.
    return with_width(plan.channels,
                      {plan.dy.data, plan.s.data, plan.x.data, plan.dx.data, plan.lines.mean,
                       plan.lines.inverse, plan.lines.scale, plan.lines.shift, plan.positions},
                      with);
  });
}

}  // namespace

KernelRows normalize_backward_kernels() {
  return {{Op::NormalizeBackward, normalize_backward},
          {Op::FusedNormalizeBackward, normalize_backward}};
}

}  // namespace regatta::cuda
