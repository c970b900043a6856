// SPDX-License-Identifier: Apache-2.0
//
// Shared by attention.cu and attention_backward.cu: divides the heads of a batch of sequences into
// tiles of tokens, so that memory is linear in the context. A block of threads has a tile of tokens
// of one head, and goes through all tiles that it sees, or that see it. Simple on purpose: no
// tensor cores.
#pragma once

#include <cmath>

#include "kernels/base/error.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/graph/chunks.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda::attention_tiles {

inline constexpr int kAttentionThreads = 256;
inline constexpr int kMostTileRows = 32;
/// The shared memory of a multiprocessor of A100 or H100 holds two such blocks; other GPUs have
/// less.
inline constexpr int kMostTileFloats = 20 * 1024;

/// A matrix of one head: its first token's first channel, and the elements between tokens.
template <class T>
struct HeadRows {
  T* at;
  std::int64_t stride;
  __host__ __device__ T& operator()(int token, int channel) const {
    return at[token * stride + channel];
  }
};

/// Tokens of one or two chunks of a sequence (chunks.h).
struct Tokens {
  int count;                  ///< number of tokens in all chunks
  int length;                 ///< tokens of a chunk
  int first = 0, second = 0;  ///< added to a token's index for its position
  int parts = 0;              ///< parts of a token's channels in the tensor: 3 in x, 2 in kv

  __host__ __device__ int position(int token) const {
    return token + (token < length ? first : second);
  }
};

/// Shapes: x [batch, tokens, 3, heads, channels], y [batch, tokens, heads, channels]; those of a
/// block's keys and values [batch, tokens, 2, heads, channels].
struct Heads {
  Tokens queries, keys;
  int heads, channels;
  int rows;  ///< tokens of a tile
  float factor;

  __host__ __device__ int tiles_of(int tokens) const { return (tokens + rows - 1) / rows; }
  /// Whether a query of the tile from `query` on sees a key of the tile from `key` on.
  __host__ __device__ bool sees(int query, int key) const {
    const int end = query + rows < queries.count ? query + rows : queries.count;
    return keys.position(key) <= queries.position(end - 1);
  }
  /// Elements between rows of a tile: an odd number avoids bank conflicts if channels are even.
  __host__ __device__ int pitch() const { return channels + 1; }
  __host__ __device__ int tile() const { return rows * pitch(); }
  /// Shared memory of a block of the backward pass, which needs most.
  __host__ __device__ int most_floats() const { return 6 * tile() + 2 * rows * rows; }

  template <class T>
  __host__ __device__ HeadRows<T> in_x(T* x, std::int64_t index) const {
    return rows_of(x, index, queries.count, 3, 0);
  }
  /// Keys (part 0) or values (1) of head `index` of all sequences' heads.
  template <class T>
  __host__ __device__ HeadRows<T> in_keys(T* kv, std::int64_t index, int part) const {
    return rows_of(kv, index, keys.count, keys.parts, keys.parts - 2 + part);
  }
  template <class T>
  __host__ __device__ HeadRows<T> in_y(T* y, std::int64_t index) const {
    return rows_of(y, index, queries.count, 1, 0);
  }
  template <class T>
  __host__ __device__ HeadRows<T> rows_of(T* at, std::int64_t index, int tokens, int parts,
                                          int part) const {
    const std::int64_t first = index / heads * tokens * parts + part;
    return {at + (first * heads + index % heads) * channels,
            std::int64_t{parts} * heads * channels};
  }

  /// Calls f(i, row, column) for the thread's part of a matrix of `rows` rows.
  template <class Function>
  __host__ __device__ void each(int columns, int thread, Function f) const {
    for (int i = thread; i < rows * columns; i += kAttentionThreads) f(i, i / columns, i % columns);
  }
  /// Loads the thread's part of the tile from token `first` on; those after the last are zero.
  template <class T>
  __host__ __device__ void load_tile(float* to, const HeadRows<const T>& from, int first,
                                     const Tokens& tokens, int thread) const {
    each(channels, thread, [&](int, int row, int d) {
      to[row * pitch() + d] = first + row < tokens.count ? load(from(first + row, d)) : 0.0F;
    });
  }
  __host__ __device__ float dot(const float* a, int row, const float* b, int other) const {
    float sum = 0;
    for (int d = 0; d < channels; ++d) sum += a[row * pitch() + d] * b[other * pitch() + d];
    return sum;
  }
  /// Returns the sum over a tile's tokens of weights[row, token] * tile[token, d].
  __host__ __device__ float weighted(const float* weights, int row, const float* tile,
                                     int d) const {
    float sum = 0;
    for (int token = 0; token < rows; ++token) {
      sum += weights[row * rows + token] * tile[token * pitch() + d];
    }
    return sum;
  }
};

inline Tokens tokens_of(const TensorType& type, const Node& node, const char* name) {
  const Chunks chunks = chunks_of(node.attributes, name, type.dim(1));
  check(chunks.count() <= 2, "attention: tokens of one chunk or two");
  Tokens tokens{.count = static_cast<int>(type.dim(1)), .length = static_cast<int>(chunks.length)};
  tokens.first = static_cast<int>(chunks.position(0));
  if (chunks.count() > 1) {
    tokens.second = static_cast<int>(chunks.position(chunks.length) - chunks.length);
  }
  return tokens;
}

/// `kv`: the type of a block's keys and values, or x.
inline Heads heads_of(const TensorType& x, const TensorType& kv, const Node& node) {
  const auto count = static_cast<int>(node.attributes.integer("heads"));
  Heads heads{.queries = tokens_of(x, node, "queries"),
              .keys = tokens_of(kv, node, "keys"),
              .heads = count,
              .channels = static_cast<int>(x.dim(2)) / (3 * count),
              .rows = kMostTileRows};
  heads.keys.parts = static_cast<int>(kv.dim(2)) / (count * heads.channels);
  heads.factor = 1 / std::sqrt(static_cast<float>(heads.channels));
  while (heads.most_floats() > kMostTileFloats && heads.rows > 1) {
    heads.rows /= 2;
  }
  return heads;
}

/// Runs the body for each tile of `tokens` tokens of all sequences' heads.
template <class Body>
void enqueue_tiles(Queue& queue, std::int64_t heads, int tokens, const Body& body) {
  for_each_block(queue, heads * body.heads.tiles_of(tokens), kAttentionThreads,
                 static_cast<std::size_t>(body.floats()) * sizeof(float), body);
}

}  // namespace regatta::cuda::attention_tiles
