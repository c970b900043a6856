// SPDX-License-Identifier: Apache-2.0
//
// attention_backward (formulas: kernels/graph/ops/attention.cpp). For each panel of keys, p and ds
// of a block of queries are computed and taken into the gradients of values and keys; ds of all
// panels of a block of keys then gives those of queries. Terms of the chunks of a part of the
// sequence are added pair by pair.
#include "kernels/cpu/attention_heads.h"
#include "kernels/cpu/vector_math.h"

namespace regatta::cpu {
namespace {

using heads::Heads;
using heads::hidden;
using heads::Parts;
using heads::Shape;
using heads::Sight;

constexpr std::int64_t kBlock = 64;  ///< queries, or keys

/// T is the element type of x, G that of the gradients.
template <typename T, typename G>
class AttentionBackward {
 public:
  explicit AttentionBackward(const KernelRequest& request)
      : is_block_(request.inputs.size() > 4),
        shape_(request.inputs[1].type, keys_of(request).type, request.node.attributes),
        dy_(request.inputs[0].as<T>()),
        x_(request.inputs[1].as<T>()),
        kv_(keys_of(request).as<T>()),
        y_(request.inputs[2].as<T>()),
        l_(request.inputs[3].f32()),
        dx_(request.outputs[0].as<G>()),
        dkv_(request.outputs[is_block_ ? 1 : 0].as<G>()),
        heads_(shape_, request.threads,
               shape_.queries.count() * (3 * shape_.matrix() + 2 * shape_.padded()) +
                   shape_.keys.count() * 5 * shape_.matrix() + kBlock * (kBlock + kPanel)) {}

  void operator()(const StepContext&) const {
    heads_.run([this](std::int64_t index, Parts scratch) {
      const Head head = pack_head(index, scratch);
      for (std::int64_t k = 0; k < shape_.keys.count(); ++k) {
        for (std::int64_t q = 0; q < shape_.queries.count(); ++q) {
          if (shape_.sight(q, k) != Sight::None) meet_chunks(of_chunks(head, q, k));
        }
      }
      for (std::int64_t q = 0; q < shape_.queries.count(); ++q) {
        write(of_chunks(head, q, 0).gradient[0], shape_.factor(),
              is_block_ ? shape_.in_y(dx_, index, q) : shape_.in_x(dx_, index, q));
      }
      for (std::int64_t k = 0; k < shape_.keys.count(); ++k) {
        const Head of_k = of_chunks(head, 0, k);
        write(of_k.gradient[1], 1, shape_.in_keys(dkv_, index, k, 0));
        write(of_k.gradient[2], 1, shape_.in_keys(dkv_, index, k, 1));
      }
    });
  }

 private:
  /// Operands and results of a head, chunk after chunk: panels of `padded` rows, or of transposes.
  struct Head {
    float* query;  ///< times the scores' factor
    float* key;
    float* dy;
    float* keys;         ///< transposed
    float* values;       ///< transposed
    float* gradient[3];  ///< by queries, without the scores' factor; by keys; by values
    float* log_sum;      ///< l
    float* e;
    float* p;             ///< [queries, 16]: of one panel of keys
    float* ds;            ///< [keys / 16, queries, 16]
    bool causal = false;  ///< between the chunks of queries and keys that of_chunks() chose
  };

  static const Tensor& keys_of(const KernelRequest& request) {
    return request.inputs[request.inputs.size() > 4 ? 4 : 1];
  }

  /// Returns the operands of one chunk of queries and one of keys.
  Head of_chunks(Head head, std::int64_t q, std::int64_t k) const {
    for (float** of_queries : {&head.query, &head.dy, &head.gradient[0]}) {
      *of_queries += q * shape_.matrix();
    }
    for (float** of_keys :
         {&head.key, &head.keys, &head.values, &head.gradient[1], &head.gradient[2]}) {
      *of_keys += k * shape_.matrix();
    }
    head.log_sum += q * shape_.padded();
    head.e += q * shape_.padded();
    head.causal = shape_.sight(q, k) == Sight::Causal;
    return head;
  }

  Head pack_head(std::int64_t index, Parts& scratch) const {
    const std::int64_t padded = shape_.padded();
    const std::int64_t of_queries = shape_.queries.count() * shape_.matrix();
    const std::int64_t of_keys = shape_.keys.count() * shape_.matrix();
    const std::int64_t rows = shape_.queries.count() * padded;
    const Head head{
        .query = scratch.take(of_queries),
        .key = scratch.take(of_keys),
        .dy = scratch.take(of_queries),
        .keys = scratch.take(of_keys),
        .values = scratch.take(of_keys),
        .gradient = {scratch.take(of_queries), scratch.take(of_keys), scratch.take(of_keys)},
        .log_sum = scratch.take(rows),
        .e = scratch.take(rows),
        .p = scratch.take(kBlock * kPanel),
        .ds = scratch.take(kBlock * kBlock)};
    std::fill_n(head.gradient[0], of_queries + 2 * of_keys, 0.0F);
    std::fill_n(head.log_sum, 2 * rows, 0.0F);
    for (std::int64_t k = 0; k < shape_.keys.count(); ++k) {
      const Head to = of_chunks(head, 0, k);
      pack(shape_.in_keys(kv_, index, k, 0), padded, 1, to.key);
      pack_transposed(shape_.in_keys(kv_, index, k, 0), to.keys);
      pack_transposed(shape_.in_keys(kv_, index, k, 1), to.values);
    }
    for (std::int64_t q = 0; q < shape_.queries.count(); ++q) {
      const Head to = of_chunks(head, q, 0);
      const RowsOf<const T> dy = shape_.in_y(dy_, index, q), y = shape_.in_y(y_, index, q);
      pack(shape_.in_x(x_, index, q), padded, shape_.factor(), to.query);
      pack(dy, padded, 1, to.dy);
      std::copy_n(l_ + shape_.log_at(index, q), shape_.tokens, to.log_sum);
      for (std::int64_t t = 0; t < shape_.tokens; ++t) {
        Lanes sum{};
        for_each_lanes(shape_.channels, [&](auto c, auto lanes) {
          sum += load_lanes(dy.at + t * dy.stride + c, lanes) *
                 load_lanes(y.at + t * y.stride + c, lanes);
        });
        to.e[t] = sum_of_lanes(sum);
      }
    }
    return head;
  }

  void write(const float* gradient, float factor, const RowsOf<G>& to) const {
    for (std::int64_t t = 0; t < shape_.tokens; ++t) {
      unpack_row(gradient + t * kPanel, shape_.padded(), factor, shape_.channels,
                 to.at + t * to.stride);
    }
  }

  void meet_chunks(const Head& head) const {
    for (std::int64_t u = 0; u < shape_.padded(); u += kBlock) {
      for (std::int64_t t = head.causal ? u : 0; t < shape_.padded(); t += kBlock) meet(head, t, u);
    }
  }

  /// Adds the terms of queries from t on and keys from u on, a block of each, to the gradients.
  void meet(const Head& head, std::int64_t t, std::int64_t u) const {
    const std::int64_t queries = std::min(kBlock, shape_.padded() - t);
    const std::int64_t keys = std::min(kBlock, shape_.padded() - u);
    for (std::int64_t k = 0; k < keys; k += kPanel) {
      const std::int64_t first = head.causal ? std::max<std::int64_t>(u + k - t, 0) : 0;
      for (std::int64_t r = first; r < queries; r += kTileRows) weigh(head, t + r, r, u + k, k);
      // A tile of kTileRows keys; queries before them do not see them.
      for (std::int64_t c = 0; c < shape_.columns(); c += kPanel) {
        for (std::int64_t i = 0; i < kPanel; i += kTileRows) {
          const std::int64_t seen = head.causal && t + first == u + k ? first + i : first;
          const std::int64_t to = c * shape_.padded() + (u + k + i) * kPanel;
          const std::int64_t from = c * shape_.padded() + (t + seen) * kPanel;
          add<Left::Transposed>(head.p + seen * kPanel + i, head.dy + from, queries - seen,
                                head.gradient[2] + to);
          add<Left::Transposed>(head.ds + (k * kBlock) + seen * kPanel + i, head.query + from,
                                queries - seen, head.gradient[1] + to);
        }
      }
    }
    for (std::int64_t c = 0; c < shape_.columns(); c += kPanel) {
      for (std::int64_t r = 0; r < queries; r += kTileRows) {
        add<Left::Plain>(head.ds + r * kPanel, head.key + c * shape_.padded() + u * kPanel,
                         head.causal ? std::min(keys, t + r + kTileRows - u) : keys,
                         head.gradient[0] + c * shape_.padded() + (t + r) * kPanel);
      }
    }
  }

  /// Computes p and ds of a tile of queries from `query` on and the panel of keys from `key` on,
  /// which are row r and column k of their blocks.
  void weigh(const Head& head, std::int64_t query, std::int64_t r, std::int64_t key,
             std::int64_t k) const {
    PanelTile p, ds;
    p.multiply<Left::Plain>(head.query + query * kPanel, shape_.padded() * kPanel,
                            head.keys + key * shape_.columns(), shape_.columns());
    // The last key that a row sees: its own, or the chunk's last.
    const std::int64_t last = head.causal ? query - key : shape_.tokens - 1 - key;
    const std::int64_t of_row = head.causal ? 1 : 0;
    p.each([&](Lanes& scores, auto row, auto c) {
      scores = fast_exp_of_negative(scores - head.log_sum[query + row]);
      if (last < kPanel) scores = select(hidden(last + of_row * row, c), 0.0F, scores);
    });
    p.store(head.p + r * kPanel);
    ds.multiply<Left::Plain>(head.dy + query * kPanel, shape_.padded() * kPanel,
                             head.values + key * shape_.columns(), shape_.columns());
    ds.each([&](Lanes& sums, auto row, auto c) {
      sums = p.at[row][c / kLanes] * (sums - head.e[query + row]);
    });
    ds.store(head.ds + (k * kBlock) + r * kPanel);
  }

  template <Left kLeft>
  static void add(const float* left, const float* right, std::int64_t terms, float* to) {
    PanelTile tile;
    tile.load(to);
    tile.multiply<kLeft>(left, kBlock * kPanel, right, terms);
    tile.store(to);
  }

  bool is_block_;
  Shape shape_;
  const T* dy_;
  const T* x_;
  const T* kv_;
  const T* y_;
  const float* l_;
  G* dx_;
  G* dkv_;
  Heads heads_;
};

KernelPointer attention_backward(const KernelRequest& request) {
  return with_element(request.inputs[1].type.element, [&]<typename T>(T) {
    if (request.inputs.size() > 4) return make_kernel(AttentionBackward<T, float>(request));
    return make_kernel(AttentionBackward<T, T>(request));
  });
}

}  // namespace

KernelRows attention_backward_kernels() { return {{Op::AttentionBackward, attention_backward}}; }

}  // namespace regatta::cpu
