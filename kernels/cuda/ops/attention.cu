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
#include "kernels/graph/chunks.h"
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

/// Tokens that are some chunks of a sequence, as chunks.h has them.
struct Tokens {
  static constexpr int kMost = 2;
  int count;   ///< of all chunks
  int length;  ///< of a chunk
  int numbers[kMost] = {};
  int parts = 0;  ///< of a token's channels in the tensor that has keys and values: 3 in x, 2 in kv

  __host__ __device__ int position(int token) const {
    return numbers[token / length] * length + token % length;
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

/// T: of x; Y: of y.
template <class T, class Y>
struct AttentionForward {
  Heads heads;
  const T* x;
  const T* kv;
  const float* earlier_y;  ///< null: this block is the first
  const float* earlier_l;
  Y* y;
  float* l;

  /// Shared memory. Column `channels` of the values is 1, so that of `sums` is the sum of weights.
  struct Memory {
    float *queries, *keys, *values, *sums, *weights, *largest, *correction;
  };
  __host__ __device__ int floats() const {
    return 4 * heads.tile() + heads.rows * (heads.rows + 2);
  }

  __host__ __device__ void operator()(const Block& block) const {
    const int tiles = heads.tiles_of(heads.queries.count);
    const std::int64_t index = block.index / tiles;
    const int rows = heads.rows, first = static_cast<int>(block.index % tiles) * rows;
    auto* queries = reinterpret_cast<float*>(block.shared);
    float* sums = queries + 3 * heads.tile();
    float* weights = sums + heads.tile();
    const Memory m{queries, queries + heads.tile(), queries + 2 * heads.tile(),  sums,
                   weights, weights + rows * rows,  weights + rows * rows + rows};
    block.each([&](int thread) {
      heads.load_tile(m.queries, heads.in_x(x, index), first, heads.queries, thread);
      heads.each(heads.pitch(), thread, [&](int i, int row, int d) {
        const bool has = earlier_y != nullptr && first + row < heads.queries.count;
        m.sums[i] = !has                  ? 0
                    : d == heads.channels ? 1
                                          : heads.in_y(earlier_y, index)(first + row, d);
      });
      if (thread >= rows) return;
      const bool has = earlier_y != nullptr && first + thread < heads.queries.count;
      m.largest[thread] = has ? earlier_l[index * heads.queries.count + first + thread] : -INFINITY;
      m.values[thread * heads.pitch() + heads.channels] = 1;
    });
    for (int key = 0; key < heads.keys.count; key += rows) {
      if (heads.sees(first, key)) meet(block, m, index, first, key);
    }
    block.each([&](int thread) {
      heads.each(heads.channels, thread, [&](int, int row, int d) {
        if (first + row >= heads.queries.count) return;
        const float* row_sums = m.sums + row * heads.pitch();
        store(heads.in_y(y, index)(first + row, d), row_sums[d] / row_sums[heads.channels]);
        if (d > 0) return;
        l[index * heads.queries.count + first + row] =
            m.largest[row] + logf(row_sums[heads.channels]);
      });
    });
  }

  /// Adds the tile of keys from `key` on to the sums of the queries from `query` on.
  __host__ __device__ void meet(const Block& block, const Memory& m, std::int64_t index, int query,
                                int key) const {
    const int rows = heads.rows;
    block.each([&](int thread) {
      heads.load_tile(m.keys, heads.in_keys(kv, index, 0), key, heads.keys, thread);
      heads.load_tile(m.values, heads.in_keys(kv, index, 1), key, heads.keys, thread);
    });
    block.each([&](int thread) {
      heads.each(rows, thread, [&](int i, int row, int other) {
        // Rows behind the last query see a key, too, so that none has a sum of zero.
        const int last = heads.queries.count - 1, of_row = query + row < last ? query + row : last;
        const bool hidden = key + other >= heads.keys.count ||
                            heads.keys.position(key + other) > heads.queries.position(of_row);
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
    const auto token = static_cast<int>(i % heads.queries.count);
    float sum = 0;
    for (int d = 0; d < heads.channels; ++d) {
      sum += load(heads.in_y(dy, i / heads.queries.count)(token, d)) *
             load(heads.in_y(y, i / heads.queries.count)(token, d));
    }
    e[i] = sum;
  }
};

/// One sweep of the backward pass. A block's own tile has queries and dy, and it meets keys and
/// values; with kOfKeys it is the other way round. With a for queries or keys and b for dy or
/// values, both compute the same scores (a a') and products (b b').
template <class T, class G, bool kOfKeys>
struct AttentionSweep {
  Heads heads;
  const T* dy;
  const T* x;
  const T* kv;
  const float* l;
  const float* e;
  G* dx;  ///< of queries or of keys and values: dq or dkv, or dx

  struct Memory {
    float *a, *b, *other_a, *other_b, *sum_a, *sum_b, *p, *ds;
  };
  __host__ __device__ int floats() const { return 6 * heads.tile() + 2 * heads.rows * heads.rows; }

  __host__ __device__ void operator()(const Block& block) const {
    const Tokens& own = kOfKeys ? heads.keys : heads.queries;
    const Tokens& others = kOfKeys ? heads.queries : heads.keys;
    const int tiles_of_head = heads.tiles_of(own.count);
    const std::int64_t index = block.index / tiles_of_head;
    const int rows = heads.rows, first = static_cast<int>(block.index % tiles_of_head) * rows;
    auto* tiles = reinterpret_cast<float*>(block.shared);
    const auto tile = [&](int i) { return tiles + i * heads.tile(); };
    const Memory m{tile(0), tile(1), tile(2), tile(3),
                   tile(4), tile(5), tile(6), tile(6) + rows * rows};
    block.each([&](int thread) {
      load_operands<kOfKeys>(m.a, m.b, index, first, thread);
      heads.each(2 * heads.pitch(), thread, [&](int i, int, int) { m.sum_a[i] = 0; });
    });
    for (int other = 0; other < others.count; other += rows) {
      const bool sees = kOfKeys ? heads.sees(other, first) : heads.sees(first, other);
      if (sees) meet(block, m, index, first, other);
    }
    block.each([&](int thread) {
      heads.each(heads.channels, thread, [&](int, int row, int d) {
        if (first + row >= own.count) return;
        const int at = row * heads.pitch() + d;
        const auto to = kOfKeys                ? heads.in_keys(dx, index, 0)
                        : heads.keys.parts < 3 ? heads.in_y(dx, index)
                                               : heads.in_x(dx, index);
        store(to(first + row, d), m.sum_a[at] * heads.factor);
        if (kOfKeys) store(heads.in_keys(dx, index, 1)(first + row, d), m.sum_b[at]);
      });
    });
  }

  /// Loads a tile's keys and values, or its queries and dy.
  template <bool kKeys>
  __host__ __device__ void load_operands(float* a, float* b, std::int64_t index, int first,
                                         int thread) const {
    const Tokens& tokens = kKeys ? heads.keys : heads.queries;
    heads.load_tile(a, kKeys ? heads.in_keys(kv, index, 0) : heads.in_x(x, index), first, tokens,
                    thread);
    heads.load_tile(b, kKeys ? heads.in_keys(kv, index, 1) : heads.in_y(dy, index), first, tokens,
                    thread);
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
        if (query >= heads.queries.count || key >= heads.keys.count) return;
        if (heads.keys.position(key) > heads.queries.position(query)) return;
        const std::int64_t at = index * heads.queries.count + query;
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

Tokens tokens_of(const TensorType& type, const Node& node, const char* name) {
  const Chunks chunks = chunks_of(node.attributes, name, type.dim(1));
  check(chunks.count() <= Tokens::kMost, "attention: tokens of one chunk or two");
  Tokens tokens{.count = static_cast<int>(type.dim(1)), .length = static_cast<int>(chunks.length)};
  for (int i = 0; i < chunks.count(); ++i) tokens.numbers[i] = static_cast<int>(chunks.number(i));
  return tokens;
}

/// `kv`: the type of a block's keys and values, or x.
Heads heads_of(const TensorType& x, const TensorType& kv, const Node& node) {
  const auto count = static_cast<int>(node.attributes.integer("heads"));
  Heads heads{.queries = tokens_of(x, node, "queries"),
              .keys = tokens_of(kv, node, "keys"),
              .heads = count,
              .channels = static_cast<int>(x.dim(2)) / (3 * count),
              .rows = kMostTileRows};
  heads.keys.parts = static_cast<int>(kv.dim(2)) / (count * heads.channels);
  heads.factor = 1 / std::sqrt(static_cast<float>(heads.channels));
  while (AttentionSweep<float, float, true>{heads}.floats() > kMostTileFloats && heads.rows > 1) {
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

template <class T, class Y>
KernelPointer build_attention(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor x = request.inputs[0], kv = request.inputs[request.inputs.size() > 1 ? 1 : 0];
  const Tensor l = request.outputs[1];
  AttentionForward<T, Y> body{.heads = heads_of(x.type, kv.type, request.node),
                              .x = x.template as<T>(),
                              .kv = kv.template as<T>(),
                              .earlier_y = nullptr,
                              .earlier_l = nullptr,
                              .y = request.outputs[0].template as<Y>(),
                              .l = l.f32()};
  if (request.inputs.size() > 2) {
    body.earlier_y = request.inputs[2].f32();
    body.earlier_l = request.inputs[3].f32();
  }
  const int tokens = body.heads.queries.count;
  return make_kernel([=, heads = l.elements() / tokens](const StepContext&) {
    enqueue_tiles(*queue, heads, tokens, body);
  });
}

KernelPointer attention(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return request.inputs.size() > 1 ? build_attention<T, float>(request)
                                     : build_attention<T, T>(request);
  });
}

template <class T, class G>
KernelPointer build_backward(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const bool is_block = request.inputs.size() > 4;
  const Tensor dy = request.inputs[0], x = request.inputs[1], y = request.inputs[2],
               l = request.inputs[3], kv = request.inputs[is_block ? 4 : 1];
  const Heads heads = heads_of(x.type, kv.type, request.node);
  const std::int64_t rows = l.elements();
  const auto scratch =
      std::make_shared<Scratch>(*queue, rows * static_cast<std::int64_t>(sizeof(float)));
  auto* e = scratch->as<float>();
  const AttentionDots<T> dots{heads, dy.template as<T>(), y.template as<T>(), e};
  const AttentionSweep<T, G, false> queries{heads,
                                            dy.template as<T>(),
                                            x.template as<T>(),
                                            kv.template as<T>(),
                                            l.f32(),
                                            e,
                                            request.outputs[0].template as<G>()};
  const AttentionSweep<T, G, true> keys{heads,
                                        queries.dy,
                                        queries.x,
                                        queries.kv,
                                        l.f32(),
                                        e,
                                        request.outputs[is_block ? 1 : 0].template as<G>()};
  return make_kernel([=, keep = scratch](const StepContext&) {
    for_each(*queue, rows, dots);
    enqueue_tiles(*queue, rows / heads.queries.count, heads.queries.count, queries);
    enqueue_tiles(*queue, rows / heads.queries.count, heads.keys.count, keys);
  });
}

KernelPointer attention_backward(const KernelRequest& request) {
  return with_element(request.inputs[1].type.element, [&]<typename T>(T) {
    return request.inputs.size() > 4 ? build_backward<T, float>(request)
                                     : build_backward<T, T>(request);
  });
}

}  // namespace

KernelRows attention_kernels() {
  return {{Op::Attention, attention}, {Op::AttentionBackward, attention_backward}};
}

}  // namespace regatta::cuda
