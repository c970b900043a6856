// SPDX-License-Identifier: Apache-2.0
//
// attention (formulas: kernels/graph/ops/attention.cpp), in tiles (attention_tiles.h).
#include "kernels/cuda/ops/attention_tiles.h"

namespace regatta::cuda {
namespace {

using namespace attention_tiles;

/// T is the element type of x, Y that of y.
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

}  // namespace

KernelRows attention_kernels() { return {{Op::Attention, attention}}; }

}  // namespace regatta::cuda
