// SPDX-License-Identifier: Apache-2.0
//
// attention and its gradient (formulas: kernels/graph/ops/attention.cpp), blockwise, so that memory
// is linear in the context. A block has a tile of tokens of one head and meets all tiles on its
// side of the diagonal in turn. Backward has two such sweeps, one for the gradients of queries and
// one for those of keys and values, so no two blocks add to the same element. Simple on purpose: no
// tensor cores.
#include <cmath>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

constexpr int kAttentionThreads = 256;
constexpr int kMostTileRows = 32;
/// A multiprocessor of A100 or H100 has shared memory for two such blocks; others have less.
constexpr int kMostTileFloats = 20 * 1024;

/// A matrix of one head: its first token's first channel, and the elements between tokens.
template <class T>
struct HeadRows {
  T* at;
  std::int64_t stride;
  __host__ __device__ T& operator()(int token, int channel) const {
    return at[token * stride + channel];
  }
};

/// Shapes: x [batch, tokens, 3, heads, channels], y [batch, tokens, heads, channels].
struct Heads {
  int tokens, heads, channels;
  int rows;  ///< tokens of a tile
  float factor;

  __host__ __device__ int tiles() const { return (tokens + rows - 1) / rows; }
  /// Elements between rows of a tile: an odd number avoids bank conflicts if channels are even.
  __host__ __device__ int pitch() const { return channels + 1; }
  __host__ __device__ int tile() const { return rows * pitch(); }

  /// Queries (part 0), keys (1) or values (2) of head `index` of all sequences' heads.
  template <class T>
  __host__ __device__ HeadRows<T> in_x(T* x, std::int64_t index, int part) const {
    const std::int64_t first = index / heads * tokens * 3 + part;
    return {x + (first * heads + index % heads) * channels, std::int64_t{3} * heads * channels};
  }
  template <class T>
  __host__ __device__ HeadRows<T> in_y(T* y, std::int64_t index) const {
    const std::int64_t first = index / heads * tokens * heads + index % heads;
    return {y + first * channels, std::int64_t{heads} * channels};
  }

  /// Calls f(i, row, column) for the thread's part of a matrix of `rows` rows.
  template <class Function>
  __host__ __device__ void each(int columns, int thread, Function f) const {
    for (int i = thread; i < rows * columns; i += kAttentionThreads) f(i, i / columns, i % columns);
  }
  /// Loads the thread's part of the tile from token `first` on; tokens after the last are zero.
  template <class T>
  __host__ __device__ void load_tile(float* to, const HeadRows<const T>& from, int first,
                                     int thread) const {
    each(channels, thread, [&](int, int row, int d) {
      to[row * pitch() + d] = first + row < tokens ? load(from(first + row, d)) : 0.0F;
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

template <class T>
struct AttentionForward {
  Heads heads;
  const T* x;
  T* y;
  float* l;

  /// Shared memory. Column `channels` of the values is 1, so that of `sums` is the sum of weights.
  struct Memory {
    float *queries, *keys, *values, *sums, *weights, *largest, *correction;
  };
  __host__ __device__ int floats() const {
    return 4 * heads.tile() + heads.rows * (heads.rows + 2);
  }

  __host__ __device__ void operator()(const Block& block) const {
    const std::int64_t index = block.index / heads.tiles();
    const int rows = heads.rows, first = static_cast<int>(block.index % heads.tiles()) * rows;
    auto* queries = reinterpret_cast<float*>(block.shared);
    float* sums = queries + 3 * heads.tile();
    float* weights = sums + heads.tile();
    const Memory m{queries, queries + heads.tile(), queries + 2 * heads.tile(),  sums,
                   weights, weights + rows * rows,  weights + rows * rows + rows};
    block.each([&](int thread) {
      heads.load_tile(m.queries, heads.in_x(x, index, 0), first, thread);
      heads.each(heads.pitch(), thread, [&](int i, int, int) { m.sums[i] = 0; });
      if (thread >= rows) return;
      m.largest[thread] = -INFINITY;
      m.values[thread * heads.pitch() + heads.channels] = 1;
    });
    for (int key = 0; key <= first; key += rows) meet(block, m, index, first, key);
    block.each([&](int thread) {
      heads.each(heads.channels, thread, [&](int, int row, int d) {
        if (first + row >= heads.tokens) return;
        const float* row_sums = m.sums + row * heads.pitch();
        store(heads.in_y(y, index)(first + row, d), row_sums[d] / row_sums[heads.channels]);
        if (d > 0) return;
        l[index * heads.tokens + first + row] = m.largest[row] + logf(row_sums[heads.channels]);
      });
    });
  }

  /// Adds the tile of keys from `key` on to the sums of the queries from `query` on.
  __host__ __device__ void meet(const Block& block, const Memory& m, std::int64_t index, int query,
                                int key) const {
    const int rows = heads.rows;
    block.each([&](int thread) {
      heads.load_tile(m.keys, heads.in_x(x, index, 1), key, thread);
      heads.load_tile(m.values, heads.in_x(x, index, 2), key, thread);
    });
    block.each([&](int thread) {
      heads.each(rows, thread, [&](int i, int row, int other) {
        const bool hidden = key + other > query + row;
        m.weights[i] = hidden ? -INFINITY : heads.dot(m.queries, row, m.keys, other) * heads.factor;
      });
    });
    block.each([&](int thread) {
      if (thread >= rows) return;
      float largest = m.largest[thread];
      for (int i = 0; i < rows; ++i) largest = fmaxf(largest, m.weights[thread * rows + i]);
      m.correction[thread] = expf(m.largest[thread] - largest);
      m.largest[thread] = largest;
    });
    block.each([&](int thread) {
      heads.each(rows, thread,
                 [&](int i, int row, int) { m.weights[i] = expf(m.weights[i] - m.largest[row]); });
    });
    block.each([&](int thread) {
      heads.each(heads.pitch(), thread, [&](int i, int row, int d) {
        m.sums[i] = m.sums[i] * m.correction[row] + heads.weighted(m.weights, row, m.values, d);
      });
    });
  }
};

/// e[t] = dy[t] y[t], in the order of l.
template <class T>
struct AttentionDots {
  Heads heads;
  const T* dy;
  const T* y;
  float* e;

  __host__ __device__ void operator()(std::int64_t i) const {
    const auto token = static_cast<int>(i % heads.tokens);
    float sum = 0;
    for (int d = 0; d < heads.channels; ++d) {
      sum += load(heads.in_y(dy, i / heads.tokens)(token, d)) *
             load(heads.in_y(y, i / heads.tokens)(token, d));
    }
    e[i] = sum;
  }
};

/// One sweep of the backward pass. A block's own tile has queries and dy, and it meets keys and
/// values; with kOfKeys it is the other way round. With a for queries or keys and b for dy or
/// values, both compute the same scores (a a') and products (b b').
template <class T, bool kOfKeys>
struct AttentionSweep {
  Heads heads;
  const T* dy;
  const T* x;
  const float* l;
  const float* e;
  T* dx;

  struct Memory {
    float *a, *b, *other_a, *other_b, *sum_a, *sum_b, *p, *ds;
  };
  __host__ __device__ int floats() const { return 6 * heads.tile() + 2 * heads.rows * heads.rows; }

  __host__ __device__ void operator()(const Block& block) const {
    const std::int64_t index = block.index / heads.tiles();
    const int rows = heads.rows, first = static_cast<int>(block.index % heads.tiles()) * rows;
    auto* tiles = reinterpret_cast<float*>(block.shared);
    const auto tile = [&](int i) { return tiles + i * heads.tile(); };
    const Memory m{tile(0), tile(1), tile(2), tile(3),
                   tile(4), tile(5), tile(6), tile(6) + rows * rows};
    block.each([&](int thread) {
      load_operands<kOfKeys>(m.a, m.b, index, first, thread);
      heads.each(2 * heads.pitch(), thread, [&](int i, int, int) { m.sum_a[i] = 0; });
    });
    const int begin = kOfKeys ? first : 0, end = kOfKeys ? heads.tokens : first + 1;
    for (int other = begin; other < end; other += rows) meet(block, m, index, first, other);
    block.each([&](int thread) {
      heads.each(heads.channels, thread, [&](int, int row, int d) {
        if (first + row >= heads.tokens) return;
        const int at = row * heads.pitch() + d;
        store(heads.in_x(dx, index, kOfKeys ? 1 : 0)(first + row, d), m.sum_a[at] * heads.factor);
        if (kOfKeys) store(heads.in_x(dx, index, 2)(first + row, d), m.sum_b[at]);
      });
    });
  }

  /// Loads a tile's keys and values, or its queries and dy.
  template <bool kKeys>
  __host__ __device__ void load_operands(float* a, float* b, std::int64_t index, int first,
                                         int thread) const {
    heads.load_tile(a, heads.in_x(x, index, kKeys ? 1 : 0), first, thread);
    heads.load_tile(b, kKeys ? heads.in_x(x, index, 2) : heads.in_y(dy, index), first, thread);
  }

  __host__ __device__ void meet(const Block& block, const Memory& m, std::int64_t index, int first,
                                int other_first) const {
    block.each([&](int thread) {
      load_operands<!kOfKeys>(m.other_a, m.other_b, index, other_first, thread);
    });
    block.each([&](int thread) {
      heads.each(heads.rows, thread, [&](int i, int row, int other) {
        const int query = kOfKeys ? other_first + other : first + row;
        const int key = kOfKeys ? first + row : other_first + other;
        m.p[i] = 0;
        m.ds[i] = 0;
        if (key > query || query >= heads.tokens) return;
        const std::int64_t at = index * heads.tokens + query;
        m.p[i] = expf(heads.dot(m.a, row, m.other_a, other) * heads.factor - l[at]);
        m.ds[i] = m.p[i] * (heads.dot(m.b, row, m.other_b, other) - e[at]);
      });
    });
    block.each([&](int thread) {
      heads.each(heads.channels, thread, [&](int, int row, int d) {
        const int at = row * heads.pitch() + d;
        m.sum_a[at] += heads.weighted(m.ds, row, m.other_a, d);
        if (kOfKeys) m.sum_b[at] += heads.weighted(m.p, row, m.other_b, d);
      });
    });
  }
};

Heads heads_of(const TensorType& x, const Node& node) {
  const auto count = static_cast<int>(node.attributes.integer("heads"));
  Heads heads{.tokens = static_cast<int>(x.dim(1)),
              .heads = count,
              .channels = static_cast<int>(x.dim(2)) / (3 * count),
              .rows = kMostTileRows};
  heads.factor = 1 / std::sqrt(static_cast<float>(heads.channels));
  while (AttentionSweep<float, true>{heads}.floats() > kMostTileFloats && heads.rows > 1) {
    heads.rows /= 2;
  }
  return heads;
}

/// Runs the body for each tile; `rows`: tokens of all heads of all sequences.
template <class Body>
void enqueue_tiles(Queue& queue, std::int64_t rows, const Body& body) {
  for_each_block(queue, rows / body.heads.tokens * body.heads.tiles(), kAttentionThreads,
                 static_cast<std::size_t>(body.floats()) * sizeof(float), body);
}

KernelPointer attention(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor x = request.inputs[0], y = request.outputs[0], l = request.outputs[1];
  return with_element(x.type.element, [&]<typename T>(T) {
    const AttentionForward<T> body{heads_of(x.type, request.node), x.as<T>(), y.as<T>(), l.f32()};
    return make_kernel(
        [=, rows = l.elements()](const StepContext&) { enqueue_tiles(*queue, rows, body); });
  });
}

KernelPointer attention_backward(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor dy = request.inputs[0], x = request.inputs[1], y = request.inputs[2],
               l = request.inputs[3], dx = request.outputs[0];
  const Heads heads = heads_of(x.type, request.node);
  const std::int64_t rows = l.elements();
  const auto scratch =
      std::make_shared<Scratch>(*queue, rows * static_cast<std::int64_t>(sizeof(float)));
  auto* e = scratch->as<float>();
  return with_element(x.type.element, [&]<typename T>(T) {
    const AttentionDots<T> dots{heads, dy.as<T>(), y.as<T>(), e};
    const AttentionSweep<T, false> queries{heads, dy.as<T>(), x.as<T>(), l.f32(), e, dx.as<T>()};
    const AttentionSweep<T, true> keys{heads, dy.as<T>(), x.as<T>(), l.f32(), e, dx.as<T>()};
    return make_kernel([=, keep = scratch](const StepContext&) {
      for_each(*queue, rows, dots);
      enqueue_tiles(*queue, rows, queries);
      enqueue_tiles(*queue, rows, keys);
    });
  });
}

}  // namespace

KernelRows attention_kernels() {
  return {{Op::Attention, attention}, {Op::AttentionBackward, attention_backward}};
}

}  // namespace regatta::cuda
