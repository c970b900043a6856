// SPDX-License-Identifier: Apache-2.0
//
// Products of f32 matrices small enough for the cache, by tiles of sums in registers. A matrix lies
// in panels of 16 columns: [columns / 16, rows, 16], padded with zeros. The right operand's vectors
// are loaded, the left one's elements broadcast; so the left one may also be read as its transpose,
// but never the right one, which pack_transposed() makes.
#pragma once

#include <algorithm>
#include <utility>

#include "kernels/cpu/lanes.h"

namespace regatta::cpu {

inline constexpr std::int64_t kPanel = 16;
inline constexpr std::int64_t kPanelVectors = kPanel / kLanes;
/// Eight sums or more in flight hide the latency of a multiply-add on two ports.
inline constexpr std::int64_t kTileRows = kLanes == 16 ? 8 : 4;

/// Returns `count` rounded up to whole panels.
inline constexpr std::int64_t whole_panels(std::int64_t count) {
  return (count + kPanel - 1) / kPanel * kPanel;
}

/// The left operand as it lies in memory, or its transpose.
enum class Left : std::uint8_t { Plain, Transposed };

/// Sums of kTileRows rows of one panel.
struct PanelTile {
  Lanes at[kTileRows][kPanelVectors] = {};

  /// Calls body(sums, row, first column) for each register.
  template <typename Body>
  [[gnu::always_inline]] void each(const Body& body) {
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < kPanelVectors; ++v) body(at[r][v], r, v * kLanes);
    }
  }
  void load(const float* from) {
    each(
        [=](Lanes& sums, auto r, auto c) { sums = load_lanes(from + r * kPanel + c, AllLanes{}); });
  }
  void store(float* to) {
    each([=](Lanes sums, auto r, auto c) { store_lanes(to + r * kPanel + c, sums, AllLanes{}); });
  }

  /// Adds a product over `terms` terms. `a`: the tile's first row or, transposed, column; `panel`:
  /// elements between panels of a. Shapes: b [terms, 16].
  template <Left kLeft>
  [[gnu::always_inline]] void multiply(const float* a, std::int64_t panel, const float* b,
                                       std::int64_t terms) {
    if constexpr (kLeft == Left::Transposed) {
      for (std::int64_t k = 0; k < terms; ++k) add_term<1>(a + k * kPanel, b + k * kPanel);
    } else {
      for (; terms >= kPanel; terms -= kPanel, a += panel, b += kPanel * kPanel) {
#pragma GCC unroll 4
        for (std::int64_t k = 0; k < kPanel; ++k) add_term<kPanel>(a + k, b + k * kPanel);
      }
      for (std::int64_t k = 0; k < terms; ++k) add_term<kPanel>(a + k, b + k * kPanel);
    }
  }

 private:
  template <std::int64_t kRow>
  [[gnu::always_inline]] void add_term(const float* a, const float* b) {
    Lanes right[kPanelVectors];
#pragma GCC unroll 4
    for (std::int64_t v = 0; v < kPanelVectors; ++v) {
      right[v] = in_register(load_lanes(b + v * kLanes, AllLanes{}));
    }
    // Not each(): GCC would store `right` for the lambda in every term.
#pragma GCC unroll 8
    for (std::int64_t r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < kPanelVectors; ++v) at[r][v] += a[r * kRow] * right[v];
    }
  }
};

namespace detail {

/// A step of a transposition: exchanges squares of kWidth x kWidth off the diagonal.
template <int kWidth, std::size_t... kLane>
inline void exchange(Lanes& first, Lanes& second, std::index_sequence<kLane...>) {
  constexpr auto kAll = static_cast<std::size_t>(kLanes), kBy = std::size_t{kWidth};
  const Lanes above = __builtin_shufflevector(
      first, second, static_cast<int>((kLane & kBy) != 0 ? kAll + kLane - kBy : kLane)...);
  second = __builtin_shufflevector(
      first, second, static_cast<int>((kLane & kBy) != 0 ? kAll + kLane : kLane + kBy)...);
  first = above;
}

template <int kWidth>
inline void transpose(Lanes (&rows)[kLanes]) {
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    if ((i & kWidth) == 0) {
      exchange<kWidth>(rows[i], rows[i + kWidth], std::make_index_sequence<kLanes>{});
    }
  }
  if constexpr (2 * kWidth < kLanes) transpose<2 * kWidth>(rows);
}

template <int kWidth, typename Combine, std::size_t... kLane>
inline float reduce(Lanes lanes, const Combine& combine, std::index_sequence<kLane...> all_lanes) {
  if constexpr (kWidth == 0) {
    return lanes[0];
  } else {
    const Lanes turned =
        __builtin_shufflevector(lanes, lanes, static_cast<int>(kLane ^ std::size_t{kWidth})...);
    return reduce<kWidth / 2>(combine(lanes, turned), combine, all_lanes);
  }
}

}  // namespace detail

inline float sum_of_lanes(Lanes lanes) {
  return detail::reduce<kLanes / 2>(
      lanes, [](Lanes a, Lanes b) { return a + b; }, std::make_index_sequence<kLanes>{});
}
inline Lanes larger(Lanes a, Lanes b) { return select(a > b, a, b); }
inline float largest_lane(Lanes lanes) {
  return detail::reduce<kLanes / 2>(lanes, larger, std::make_index_sequence<kLanes>{});
}

/// Rows outside of panels: a part of a tensor.
template <typename T>
struct RowsOf {
  T* at;
  std::int64_t stride;  ///< elements between rows
  std::int64_t rows, columns;
};

/// Loads the first kLanes of `left` elements; lanes beyond are zero.
template <typename T>
inline Lanes load_first(const T* from, std::int64_t left) {
  if (left >= kLanes) return load_lanes(from, AllLanes{});
  return left > 0 ? load_lanes(from, SomeLanes{static_cast<std::size_t>(left)}) : Lanes{};
}

/// Writes `factor` times the rows as panels of `padded` rows.
template <typename T>
void pack(const RowsOf<const T>& from, std::int64_t padded, float factor, float* to) {
  for (std::int64_t c = 0; c < from.columns; c += kPanel, to += padded * kPanel) {
    for (std::int64_t r = 0; r < from.rows; ++r) {
      const T* row = from.at + r * from.stride;
      __builtin_prefetch(row + 8 * from.stride + c);  // rows lie too far apart for the hardware's
      for (std::int64_t i = 0; i < kPanel; i += kLanes) {
        store_lanes(to + r * kPanel + i, factor * load_first(row + c + i, from.columns - c - i),
                    AllLanes{});
      }
    }
    std::fill_n(to + from.rows * kPanel, (padded - from.rows) * kPanel, 0.0F);
  }
}

/// Writes the transpose of the rows as panels: [padded rows / 16, padded columns, 16].
template <typename T>
void pack_transposed(const RowsOf<const T>& from, float* to) {
  const std::int64_t columns = whole_panels(from.columns);
  for (std::int64_t r = 0; r < whole_panels(from.rows); r += kLanes) {
    for (std::int64_t c = 0; c < columns; c += kLanes) {
      Lanes square[kLanes] = {};
      for (std::int64_t i = 0; i < std::min(kLanes, from.rows - r); ++i) {
        square[i] = load_first(from.at + (r + i) * from.stride + c, from.columns - c);
      }
      detail::transpose<1>(square);
      float* corner = to + (r / kPanel * columns + c) * kPanel + r % kPanel;
      for (std::int64_t i = 0; i < kLanes; ++i) {
        store_lanes(corner + i * kPanel, square[i], AllLanes{});
      }
    }
  }
}

/// Writes `factor` times a row of panels of `padded` rows; `from`: the row's first element.
template <typename T>
void unpack_row(const float* from, std::int64_t padded, float factor, std::int64_t columns, T* to) {
  for_each_lanes(columns, [&](std::int64_t c, auto lanes) {
    const float* at = from + c / kPanel * kPanel * padded + c % kPanel;
    store_lanes(to + c, factor * load_lanes(at, AllLanes{}), lanes);
  });
}

}  // namespace regatta::cpu
