// SPDX-License-Identifier: Apache-2.0
//
// attention_backward (formulas: kernels/graph/ops/attention.cpp), in tiles (attention_tiles.h), by
// two sweeps, one for the gradients of queries and one for those of keys and values, so no two
// blocks add to the same element.
#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/attention_tiles.h"

namespace regatta::cuda {
namespace {

using namespace attention_tiles;

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
  __host__ __device__ int floats() const { return heads.most_floats(); }

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

KernelRows attention_backward_kernels() { return {{Op::AttentionBackward, attention_backward}}; }

}  // namespace regatta::cuda
