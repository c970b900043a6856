// SPDX-License-Identifier: Apache-2.0
//
// A product of two matrices for each group, whose elements are read through functions:
//   out(row, column) = sum over terms of first(row, term) * second(term, column)
// It is cut into tiles of 64 x 64 results. A block loads 16 terms at a time into shared memory;
// each of its 256 threads multiplies 4 x 4. Sums are f32. With few tiles and many terms, several
// blocks share the terms, and their sums are added in order: the same bits in every run, on every
// GPU. Simple on purpose: it runs if a library is missing, and checks the library's results.
//
// A Product has
//   int groups, rows, columns, terms                            the same in every group
//   float first(int group, int row, int term) const             __host__ __device__, as all below
//   float second(int group, int term, int column) const
//   void put(int group, int row, int column, float sum) const
//   bool first_along_terms() const, second_along_terms() const  whether neighbouring terms, or else
//                                         rows (columns), are neighbours in memory; it decides
//                                         which thread loads which elements
// For .cu files only.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/scratch.h"
#include "kernels/runtime/chosen_kernel.h"

namespace regatta::cuda {
namespace detail {

inline constexpr int kTileSide = 64;
inline constexpr int kTileTerms = 16;
inline constexpr int kTileThreads = 256;
inline constexpr int kThreadsSide = 16;                       ///< threads are 16 x 16
inline constexpr int kThreadSide = kTileSide / kThreadsSide;  ///< each has 4 x 4 results
inline constexpr int kTilePitch = kTileSide + 1;              ///< fewer bank conflicts
inline constexpr std::size_t kTileBytes = 2 * kTileTerms * kTilePitch * sizeof(float);

/// Number of blocks that keep a GPU of about 130 multiprocessors busy; if there are fewer than half
/// as many tiles, the terms are divided among blocks.
inline constexpr std::int64_t kEnoughBlocks = 256;
/// Least number of terms of a block. With fewer, the extra sums cost more than the division saves.
inline constexpr int kLeastTerms = 512;

/// Data that each thread of a block keeps from one each() to the next: on the device, in registers;
/// on the host, in an array with one entry per thread.
template <class T>
class PerThread {
 public:
  __host__ __device__ T& operator[](int thread) {
#ifdef __CUDA_ARCH__
    static_cast<void>(thread);
    return value_;
#else
    return values_[thread];
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  T value_;
#else
  T values_[kTileThreads];
#endif
};

struct Sums {
  float at[kThreadSide][kThreadSide];
};

constexpr int tiles_of(int count) { return (count + kTileSide - 1) / kTileSide; }

/// Indices of rows, columns and terms are `int`, because 64-bit arithmetic is slow on the device.
inline int index_count(std::int64_t count) {
  check(count >= 0 && count < 2'000'000'000, "a product has fewer than 2^31 rows");
  return static_cast<int>(count);
}

/// Body whose blocks each compute one tile of one group, over one part of the terms.
template <class Product>
struct TileOfProduct {
  Product product;
  int parts;
  int terms_of_part;
  float* partial;  ///< [parts, groups, rows, columns]; null if there is one part

  __host__ __device__ void operator()(const Block& block) const {
    const Tile tile = tile_of(static_cast<int>(block.index));  // fewer than 2^31
    auto* first = reinterpret_cast<float*>(block.shared);
    float* second = first + kTileTerms * kTilePitch;
    PerThread<Sums> sums;
    block.each([&](int thread) { sums[thread] = {}; });
    const int begin = tile.part * terms_of_part;
    const int end = begin + terms_of_part < product.terms ? begin + terms_of_part : product.terms;
    for (int term = begin; term < end; term += kTileTerms) {
      block.each([&](int thread) {
        load_first(tile, first, term, end, thread);
        load_second(tile, second, term, end, thread);
      });
      block.each([&](int thread) { multiply(first, second, sums[thread], thread); });
    }
    block.each([&](int thread) { put(tile, sums[thread], thread); });
  }

 private:
  struct Tile {
    int part, group, row, column;
  };

  __host__ __device__ Tile tile_of(int index) const {
    const int columns = tiles_of(product.columns);
    const int rows = tiles_of(product.rows);
    const int row = index / columns;
    const int group = row / rows;
    return {.part = group / product.groups,
            .group = group % product.groups,
            .row = row % rows * kTileSide,
            .column = index % columns * kTileSide};
  }

  __host__ __device__ void load_first(const Tile& tile, float* to, int begin, int end,
                                      int thread) const {
    for (int e = thread; e < kTileTerms * kTileSide; e += kTileThreads) {
      const bool along = product.first_along_terms();
      const int term = along ? e % kTileTerms : e / kTileSide;
      const int row = along ? e / kTileTerms : e % kTileSide;
      const bool inside = begin + term < end && tile.row + row < product.rows;
      to[term * kTilePitch + row] =
          inside ? product.first(tile.group, tile.row + row, begin + term) : 0.0F;
    }
  }

  __host__ __device__ void load_second(const Tile& tile, float* to, int begin, int end,
                                       int thread) const {
    for (int e = thread; e < kTileTerms * kTileSide; e += kTileThreads) {
      const bool along = product.second_along_terms();
      const int term = along ? e % kTileTerms : e / kTileSide;
      const int column = along ? e / kTileTerms : e % kTileSide;
      const bool inside = begin + term < end && tile.column + column < product.columns;
      to[term * kTilePitch + column] =
          inside ? product.second(tile.group, begin + term, tile.column + column) : 0.0F;
    }
  }

  __host__ __device__ static void multiply(const float* first, const float* second, Sums& sums,
                                           int thread) {
    const float* rows = first + thread / kThreadsSide;
    const float* columns = second + thread % kThreadsSide;
    for (int term = 0; term < kTileTerms; ++term) {
      for (int i = 0; i < kThreadSide; ++i) {
        for (int j = 0; j < kThreadSide; ++j) {
          sums.at[i][j] += rows[term * kTilePitch + i * kThreadsSide] *
                           columns[term * kTilePitch + j * kThreadsSide];
        }
      }
    }
  }

  __host__ __device__ void put(const Tile& tile, const Sums& sums, int thread) const {
    for (int i = 0; i < kThreadSide; ++i) {
      const int row = tile.row + thread / kThreadsSide + i * kThreadsSide;
      for (int j = 0; j < kThreadSide; ++j) {
        const int column = tile.column + thread % kThreadsSide + j * kThreadsSide;
        if (row >= product.rows || column >= product.columns) continue;
        if (partial == nullptr) {
          product.put(tile.group, row, column, sums.at[i][j]);
        } else {
          const std::int64_t group =
              static_cast<std::int64_t>(tile.part) * product.groups + tile.group;
          partial[(group * product.rows + row) * product.columns + column] = sums.at[i][j];
        }
      }
    }
  }
};

/// Body that adds the parts of a result and stores the sum.
template <class Product>
struct SumOfParts {
  Product product;
  int parts;
  const float* partial;
  std::int64_t results;

  __host__ __device__ void operator()(std::int64_t i) const {
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += partial[part * results + i];
    const std::int64_t row = i / product.columns;
    product.put(static_cast<int>(row / product.rows), static_cast<int>(row % product.rows),
                static_cast<int>(i % product.columns), sum);
  }
};

}  // namespace detail

template <class Product>
class ProductKernel final : public ChosenKernel {
 public:
  ProductKernel(Queue& queue, const Product& product, std::string choice)
      : queue_(queue), product_(product), choice_(std::move(choice)) {
    tiles_ = std::int64_t{product.groups} * detail::tiles_of(product.rows) *
             detail::tiles_of(product.columns);
    const std::int64_t most = (product.terms + detail::kLeastTerms - 1) / detail::kLeastTerms;
    parts_ = static_cast<int>(
        std::clamp<std::int64_t>(detail::kEnoughBlocks / std::max<std::int64_t>(tiles_, 1), 1,
                                 std::max<std::int64_t>(most, 1)));
    results_ = std::int64_t{product.groups} * product.rows * product.columns;
    if (parts_ > 1) {
      partial_ = Scratch(queue, parts_ * results_ * static_cast<std::int64_t>(sizeof(float)));
    }
  }

  void run(const StepContext&) override {
    const int terms_of_part = (product_.terms + parts_ - 1) / parts_;
    for_each_block(queue_, tiles_ * parts_, detail::kTileThreads, detail::kTileBytes,
                   detail::TileOfProduct<Product>{.product = product_,
                                                  .parts = parts_,
                                                  .terms_of_part = terms_of_part,
                                                  .partial = partial_.as<float>()});
    if (parts_ == 1) return;
    for_each(queue_, results_,
             detail::SumOfParts<Product>{.product = product_,
                                         .parts = parts_,
                                         .partial = partial_.as<float>(),
                                         .results = results_});
  }
  std::string choice() const override { return choice_; }

 private:
  Queue& queue_;
  Product product_;
  std::string choice_;
  std::int64_t tiles_ = 0;
  std::int64_t results_ = 0;
  int parts_ = 1;
  Scratch partial_;
};

}  // namespace regatta::cuda
