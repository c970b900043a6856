// SPDX-License-Identifier: Apache-2.0
//
// normalize_backward and fused_normalize_backward. With h = (x - mean) * inverse deviation, dz = dy
// times the activation's derivative at scale h + shift (dy itself without an activation), and sums
// over the m values of a group and channel:
//   dx = scale * inverse * (dz - sum dz / m - h * sum (dz h) / m);
//   dshift = sum dz, dscale = sum dz h over all groups.
// One pass computes the sums, a second writes dx as slope * (dz - offset) - pull * (x - mean). The
// first leaves dz in dx, because gelu's derivative costs more than a read from the cache. With a
// pool, dz exists only for picked values: the first pass reads nothing else, and both compute dz.
// With a pool before, dx is nonzero only at picked pixels; with a pool after, at all pixels.
#include <type_traits>
#include <vector>

#include "kernels/cpu/element.h"
#include "kernels/cpu/groups.h"
#include "kernels/cpu/line.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

using Pool = Fusion::Pool;

/// The positions of the inputs: the single op has no shift and no pool.
struct Inputs {
  explicit Inputs(const KernelRequest& request)
      : fused(request.node.op == Op::FusedNormalizeBackward),
        mean(request.inputs[fused ? 4 : 3]),
        inverse(request.inputs[fused ? 5 : 4]),
        shift(fused ? request.inputs[3].f32() : nullptr) {}
  bool fused;
  Tensor mean;
  Tensor inverse;
  const float* shift;
};

template <typename T, typename Function>
class NormalizeBackward {
 public:
  NormalizeBackward(const KernelRequest& request, const Fusion& fusion, const Inputs& inputs)
      : pool_(fusion.pool),
        windows_(request.outputs[0].type, fusion.window),
        dy_(request.inputs[0].as<T>()),
        source_(request.inputs[1].as<T>()),
        positions_(pool_ == Pool::None ? nullptr : request.inputs[6].as<std::uint8_t>()),
        x_(pool_ == Pool::After ? request.inputs[7].as<T>() : source_),
        scale_(request.inputs[2].f32()),
        inputs_(inputs),
        dx_(request.outputs[0].as<T>()),
        dscale_(request.outputs[1].f32()),
        dshift_(request.outputs[2].f32()),
        groups_(request.inputs[0].type, inputs.mean.type.dim(0), request.threads),
        row_(WideRow::of_registers(groups_.channels)),
        sums_(make_buffer<double>(
            static_cast<std::size_t>(2 * groups_.count * groups_.slices() * groups_.channels))),
        totals_(
            make_buffer<double>(static_cast<std::size_t>(2 * groups_.count * groups_.channels))) {
    for (std::int64_t group = 0; group < groups_.count; ++group) {
      lines_.emplace_back(row_);
      wide_.push_back(make_buffer<float>(static_cast<std::size_t>(2 * row_.width)));
    }
    for (int part = 0; part < groups_.parts; ++part) scratch_.emplace_back(row_);
  }

  void operator()(const StepContext&) {
    if (groups_.sliced) {
      for (std::int64_t group = 0; group < groups_.count; ++group) set_line(group);
    }
    groups_.run(
        [&](std::int64_t group, int part) {
          if (!groups_.sliced) set_line(group);
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
  /// Whether dz differs from dy.
  static constexpr bool kKeeps = !std::is_same_v<Function, NoActivation>;

  const Line& line(std::int64_t group) const { return lines_[static_cast<std::size_t>(group)]; }

  void set_line(std::int64_t group) {
    Line& target = lines_[static_cast<std::size_t>(group)];
    for (std::int64_t c = 0; c < groups_.channels; ++c) {
      const std::int64_t at = group * groups_.channels + c;
      target.set(c, inputs_.mean.f32()[at], scale_[c] * inputs_.inverse.f32()[at],
                 inputs_.fused ? inputs_.shift[c] : 0.0F);
    }
    target.repeat();
  }

  Range elements(std::int64_t group, int part) const {
    return pool_ == Pool::None ? groups_.elements(group, part)
                               : groups_.elements_of(groups_.whole_examples(group, part));
  }

  void measure(std::int64_t group, int part) {
    ChannelSums<2>& scratch = scratch_[static_cast<std::size_t>(part)];
    const Line& line = this->line(group);
    const Range all = elements(group, part);
    scratch.sweep(all.begin, all.end, [&](auto offset, auto count, float* sums) {
      float* products = sums + row_.width;
      for_each_lanes(count, [&](auto i, auto lanes) {
        const Lanes centered = line.centered(i, load_lanes(source_ + offset + i, lanes));
        const Lanes dz = Function::template backward<T>(load_lanes(dy_ + offset + i, lanes),
                                                        line.line(i, centered));
        store_lanes(sums + i, load_lanes(sums + i, lanes) + dz, lanes);
        store_lanes(products + i, load_lanes(products + i, lanes) + dz * centered, lanes);
        if (kKeeps && pool_ == Pool::None) store_lanes(dx_ + offset + i, dz, lanes);
      });
    });
    double* target = sums_.get() + 2 * groups_.slice(group, part) * groups_.channels;
    std::copy_n(scratch.totals(0), 2 * groups_.channels, target);
  }

  void finish(std::int64_t group) {
    const std::int64_t channels = groups_.channels;
    // The number of all normalised values, picked or not.
    const auto m = static_cast<double>(
        pool_ == Pool::After ? groups_.examples * windows_.height * windows_.width : groups_.rows);
    double* totals = totals_.get() + 2 * group * channels;
    float* offset = wide_[static_cast<std::size_t>(group)].get();
    float* pull = offset + row_.width;
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0, products = 0;
      for (std::int64_t slice = 0; slice < groups_.slices(); ++slice) {
        const double* sums = sums_.get() + 2 * (group * groups_.slices() + slice) * channels;
        sum += sums[c];
        products += sums[channels + c];
      }
      const auto inverse = static_cast<double>(inputs_.inverse.f32()[group * channels + c]);
      const double slope = static_cast<double>(scale_[c]) * inverse;
      totals[c] = sum;
      totals[channels + c] = products * inverse;
      offset[c] = static_cast<float>(sum / m);
      pull[c] = static_cast<float>(slope * inverse * inverse * products / m);
    }
    repeat_channels(row_, offset);
    repeat_channels(row_, pull);
  }

  /// The derivative by x or by the picked value; `i` is the position in the wide row.
  Lanes back(std::int64_t group, std::int64_t i, Lanes dz, Lanes centered) const {
    const float* offset = wide_[static_cast<std::size_t>(group)].get();
    const float* pull = offset + row_.width;
    return line(group).slope(i) * (dz - load_lanes(offset + i, AllLanes{})) -
           load_lanes(pull + i, AllLanes{}) * centered;
  }

  template <typename Count>
  Lanes dz(std::int64_t group, std::int64_t at, std::int64_t i, Lanes centered, Count lanes) const {
    return Function::template backward<T>(load_lanes(dy_ + at, lanes),
                                          line(group).line(i, centered));
  }

  void apply(std::int64_t group, int part) const {
    if (pool_ == Pool::None) {
      for_each_row_lanes(row_, elements(group, part), [&](auto at, auto i, auto lanes) {
        const Lanes centered = line(group).centered(i, load_lanes(source_ + at, lanes));
        const Lanes dz = load_lanes((kKeeps ? dx_ : dy_) + at, lanes);
        store_lanes(dx_ + at, back(group, i, dz, centered), lanes);
      });
      return;
    }
    const Range examples = groups_.whole_examples(group, part);
    for (std::int64_t b = examples.begin; b < examples.end; ++b) {
      if (pool_ == Pool::Before) {
        hand_on(group, b);
      } else {
        spread(group, b);
      }
    }
  }

  /// Writes derivatives to the pixels that a preceding pool picked, and zero to the others.
  void hand_on(std::int64_t group, std::int64_t example) const {
    const std::int64_t base = example * windows_.pooled_image();
    T* dx = dx_ + example * windows_.image();
    windows_.for_each([&](auto corner, auto pooled, auto side) {
      for_each_lanes(windows_.channels, [&](auto i, auto lanes) {
        const std::int64_t at = base + pooled + i;
        const Lanes centered = line(group).centered(i, load_lanes(source_ + at, lanes));
        store_to_picked(windows_, dx + corner + i, side, lanes,
                        back(group, i, dz(group, at, i, centered, lanes), centered),
                        positions_ + at);
      });
    });
    windows_.for_each_rest([&](auto at, auto count) { std::fill_n(dx + at, count, T{}); });
  }

  /// Writes dx of every pixel when a pool follows; only the picked pixels have a nonzero dz.
  void spread(std::int64_t group, std::int64_t example) const {
    const std::int64_t base = example * windows_.pooled_image();
    const T* x = x_ + example * windows_.image();
    T* dx = dx_ + example * windows_.image();
    windows_.for_each([&](auto corner, auto pooled, auto side) {
      for_each_lanes(windows_.channels, [&](auto i, auto lanes) {
        const std::int64_t at = base + pooled + i;
        const Lanes picked = line(group).centered(i, load_lanes(source_ + at, lanes));
        const Lanes slope = dz(group, at, i, picked, lanes);
        const LaneIntegers positions = load_bytes(positions_ + at, lanes);
        for (int pixel = 0; pixel < side * side; ++pixel) {
          const std::int64_t to =
              corner + (pixel / side * windows_.width + pixel % side) * windows_.channels + i;
          const Lanes centered = line(group).centered(i, load_lanes(x + to, lanes));
          const Lanes own = select(positions == pixel, slope, 0.0F);
          store_lanes(dx + to, back(group, i, own, centered), lanes);
        }
      });
    });
    windows_.for_each_rest([&](auto begin, auto count) {
      for_each_row_lanes(row_, {begin, begin + count}, [&](auto at, auto i, auto lanes) {
        const Lanes centered = line(group).centered(i, load_lanes(x + at, lanes));
        store_lanes(dx + at, back(group, i, Lanes{}, centered), lanes);
      });
    });
  }

  Pool pool_;
  Windows windows_;
  const T* dy_;
  const T* source_;  ///< x, or its picked values: of dy's shape
  const std::uint8_t* positions_;
  const T* x_;  ///< of dx's shape unless there is a pool before
  const float* scale_;
  Inputs inputs_;
  T* dx_;
  float* dscale_;
  float* dshift_;
  Groups groups_;  ///< of dy
  WideRow row_;
  Buffer<double> sums_;                  ///< [group, slice, (dz, dz (x - mean)), channel]
  Buffer<double> totals_;                ///< [group, (dshift, dscale), channel]
  std::vector<Line> lines_;              ///< one for each group
  std::vector<Buffer<float>> wide_;      ///< one for each group: offset, pull
  std::vector<ChannelSums<2>> scratch_;  ///< one for each part
};

KernelPointer normalize_backward(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return with_activation(fusion.activation, [&]<typename Function>(Function) {
      return make_kernel(NormalizeBackward<T, Function>(request, fusion, Inputs(request)));
    });
  });
}

}  // namespace

KernelRows normalize_backward_kernels() {
  return {{Op::NormalizeBackward, normalize_backward},
          {Op::FusedNormalizeBackward, normalize_backward}};
}

}  // namespace regatta::cpu
