// SPDX-License-Identifier: Apache-2.0
//
// A normalisation with known statistics is a linear function of x for each channel; Line applies it
// together with the fused ops.
#pragma once

#include "kernels/cpu/activation_function.h"
#include "kernels/cpu/channels.h"
#include "kernels/cpu/windows.h"
#include "kernels/graph/collective.h"

namespace regatta::cpu {

/// Calls body(offset, i, lanes) for the elements [begin, end), which are whole rows: `offset` is
/// the index of the first lane's element in the tensor, `i` its index in the wide row.
template <typename Body>
inline void for_each_row_lanes(const WideRow& row, const Range& elements, const Body& body) {
  for_each_wide_row(row, elements.begin, elements.end, [&](auto offset, auto count) {
    for_each_lanes(count, [&](auto i, auto lanes) { body(offset + i, i, lanes); });
  });
}

/// Computes slope * (x - mean) + shift for each channel; the constants are repeated over a wide
/// row.
class Line {
 public:
  explicit Line(const WideRow& row)
      : row_(row), constants_(make_buffer<float>(static_cast<std::size_t>(3 * row.width))) {}

  /// Sets the constants of `channel`. Call repeat() after all channels are set.
  void set(std::int64_t channel, float mean, float slope, float shift) {
    constants_[static_cast<std::size_t>(channel)] = mean;
    constants_[static_cast<std::size_t>(row_.width + channel)] = slope;
    constants_[static_cast<std::size_t>(2 * row_.width + channel)] = shift;
  }
  void repeat() const {
    for (int i = 0; i < 3; ++i) repeat_channels(row_, constants_.get() + i * row_.width);
  }

  /// Returns x - mean; `i` is the position in the wide row.
  Lanes centered(std::int64_t i, Lanes x) const { return x - at(i); }
  Lanes slope(std::int64_t i) const { return at(row_.width + i); }
  /// Returns slope * centered + shift, where `centered` is x - mean.
  Lanes line(std::int64_t i, Lanes centered) const {
    return slope(i) * centered + at(2 * row_.width + i);
  }

  /// Computes y = function(line(x)) [+ residual], element by element.
  template <typename Function, typename T>
  void apply(const T* x, const T* residual, T* y, const Range& elements) const {
    if (residual == nullptr) {
      for_each_row_lanes(row_, elements, [&](auto offset, auto i, auto lanes) {
        const Lanes z = line(i, centered(i, load_lanes(x + offset, lanes)));
        store_lanes(y + offset, Function::template value<T>(z), lanes);
      });
    } else {
      for_each_row_lanes(row_, elements, [&](auto offset, auto i, auto lanes) {
        const Lanes z = line(i, centered(i, load_lanes(x + offset, lanes)));
        store_lanes(y + offset,
                    Function::template value<T>(z) + load_lanes(residual + offset, lanes), lanes);
      });
    }
  }

  /// Computes y = max_pool(function(line(x))) of one image. Values are rounded before they are
  /// compared, so that they tie exactly if their stored values do. `picked` receives the x of each
  /// window's largest value and `positions` its place in the window; both may be null.
  template <typename Function, typename T>
  void apply_and_pool(const Windows& windows, const T* x, T* y, T* picked,
                      std::uint8_t* positions) const {
    windows.for_each([&](auto corner, auto pooled, auto side) {
      for_each_lanes(windows.channels, [&](auto i, auto lanes) {
        const Largest best = largest(windows, x + corner + i, side, lanes, [&](Lanes pixel) {
          const Lanes z = line(i, centered(i, pixel));
          return to_f32(rounded_to(T{}, Function::template value<T>(z)));
        });
        store_lanes(y + pooled + i, best.value, lanes);
        if (picked == nullptr) return;
        store_lanes(picked + pooled + i, best.pixel, lanes);
        store_bytes(positions + pooled + i, best.position, lanes);
      });
    });
  }

 private:
  Lanes at(std::int64_t i) const { return load_lanes(constants_.get() + i, AllLanes{}); }

  WideRow row_;
  Buffer<float> constants_;  ///< mean, slope and shift, a wide row each
};

/// Finds each window's largest value in an image, and its position unless `positions` is null.
template <typename T>
void pool_image(const Windows& windows, const T* x, T* picked, std::uint8_t* positions) {
  windows.for_each([&](auto corner, auto pooled, auto side) {
    for_each_lanes(windows.channels, [&](auto i, auto lanes) {
      const Largest best =
          largest(windows, x + corner + i, side, lanes, [](Lanes pixel) { return pixel; });
      store_lanes(picked + pooled + i, best.value, lanes);
      if (positions != nullptr) store_bytes(positions + pooled + i, best.position, lanes);
    });
  });
}

}  // namespace regatta::cpu
