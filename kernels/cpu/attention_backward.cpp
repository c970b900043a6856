// SPDX-License-Identifier: Apache-2.0
//
// attention_backward (formulas: kernels/graph/ops/attention.cpp). For each panel of keys, p and ds
// of a block of queries are computed and taken into the gradients of values and keys; ds of all
// panels of a block of keys then gives those of queries.
#include "kernels/cpu/attention_heads.h"
#include "kernels/cpu/vector_math.h"

namespace regatta::cpu {
namespace {

using heads::Heads;
using heads::hidden;
using heads::Parts;
using heads::Shape;

constexpr std::int64_t kBlock = 64;  ///< queries, or keys

template <typename T>
class AttentionBackward {
 public:
  explicit AttentionBackward(const KernelRequest& request)
      : shape_(request.inputs[1].type, request.node.attributes.integer("heads")),
        dy_(request.inputs[0].as<T>()),
        x_(request.inputs[1].as<T>()),
        y_(request.inputs[2].as<T>()),
        l_(request.inputs[3].f32()),
        dx_(request.outputs[0].as<T>()),
        heads_(shape_, request.threads,
               8 * shape_.matrix() + 2 * shape_.padded() + kBlock * (kBlock + kPanel)) {}

  void operator()(const StepContext&) const {
    heads_.run([this](std::int64_t index, Parts scratch) {
      const Head head = pack_head(index, scratch);
      for (std::int64_t u = 0; u < shape_.padded(); u += kBlock) {
        for (std::int64_t t = u; t < shape_.padded(); t += kBlock) meet(head, t, u);
      }
      for (std::int64_t part = 0; part < 3; ++part) {
        const RowsOf<T> dx = shape_.in_x(dx_, index, part);
        for (std::int64_t t = 0; t < shape_.tokens; ++t) {
          unpack_row(head.gradient[part] + t * kPanel, shape_.padded(),
                     part == 0 ? shape_.factor() : 1, shape_.channels, dx.at + t * dx.stride);
        }
      }
    });
  }

 private:
  enum class Sums : std::uint8_t { Begin, GoOn };

  /// Operands and results of a head: panels of `padded` rows, or of transposes.
  struct Head {
    float* query;  ///< times the scores' factor
    float* key;
    float* dy;
    float* keys;         ///< transposed
    float* values;       ///< transposed
    float* gradient[3];  ///< by queries, without the scores' factor; by keys; by values
    float* log_sum;      ///< l
    float* e;
    float* p;   ///< [queries, 16]: of one panel of keys
    float* ds;  ///< [keys / 16, queries, 16]
  };

  Head pack_head(std::int64_t index, Parts& scratch) const {
    const std::int64_t padded = shape_.padded();
    const auto matrix = [&] { return scratch.take(shape_.matrix()); };
    const Head head{.query = matrix(),
                    .key = matrix(),
                    .dy = matrix(),
                    .keys = matrix(),
                    .values = matrix(),
                    .gradient = {matrix(), matrix(), matrix()},
                    .log_sum = scratch.take(padded),
                    .e = scratch.take(padded),
                    .p = scratch.take(kBlock * kPanel),
                    .ds = scratch.take(kBlock * kBlock)};
    pack(shape_.in_x(x_, index, 0), padded, shape_.factor(), head.query);
    pack(shape_.in_x(x_, index, 1), padded, 1, head.key);
    pack(shape_.in_y(dy_, index), padded, 1, head.dy);
    pack_transposed(shape_.in_x(x_, index, 1), head.keys);
    pack_transposed(shape_.in_x(x_, index, 2), head.values);
    std::fill_n(head.log_sum, 2 * padded, 0.0F);
    std::copy_n(l_ + index * shape_.tokens, shape_.tokens, head.log_sum);
    const RowsOf<const T> dy = shape_.in_y(dy_, index), y = shape_.in_y(y_, index);
    for (std::int64_t t = 0; t < shape_.tokens; ++t) {
      Lanes sum{};
      for_each_lanes(shape_.channels, [&](auto c, auto lanes) {
        sum += load_lanes(dy.at + t * dy.stride + c, lanes) *
               load_lanes(y.at + t * y.stride + c, lanes);
      });
      head.e[t] = sum_of_lanes(sum);
    }
    return head;
  }

  /// Adds the terms of queries from t on and keys from u on, a block of each, to the gradients.
  void meet(const Head& head, std::int64_t t, std::int64_t u) const {
    const std::int64_t queries = std::min(kBlock, shape_.padded() - t);
    const std::int64_t keys = std::min(kBlock, shape_.padded() - u);
    const Sums of_keys = t == u ? Sums::Begin : Sums::GoOn;
    const Sums of_queries = u == 0 ? Sums::Begin : Sums::GoOn;
    for (std::int64_t k = 0; k < keys; k += kPanel) {
      const std::int64_t first = std::max<std::int64_t>(u + k - t, 0);
      for (std::int64_t r = first; r < queries; r += kTileRows) weigh(head, t + r, r, u + k, k);
      // A tile of kTileRows keys; queries before them do not see them.
      for (std::int64_t c = 0; c < shape_.columns(); c += kPanel) {
        for (std::int64_t i = 0; i < kPanel; i += kTileRows) {
          const std::int64_t seen = t + first == u + k ? first + i : first;
          const std::int64_t to = c * shape_.padded() + (u + k + i) * kPanel;
          const std::int64_t from = c * shape_.padded() + (t + seen) * kPanel;
          add<Left::Transposed>(head.p + seen * kPanel + i, head.dy + from, queries - seen, of_keys,
                                head.gradient[2] + to);
          add<Left::Transposed>(head.ds + (k * kBlock) + seen * kPanel + i, head.query + from,
                                queries - seen, of_keys, head.gradient[1] + to);
        }
      }
    }
    for (std::int64_t c = 0; c < shape_.columns(); c += kPanel) {
      for (std::int64_t r = 0; r < queries; r += kTileRows) {
        add<Left::Plain>(head.ds + r * kPanel, head.key + c * shape_.padded() + u * kPanel,
                         std::min(keys, t + r + kTileRows - u), of_queries,
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
    p.each([&](Lanes& scores, auto row, auto c) {
      scores = fast_exp_of_negative(scores - head.log_sum[query + row]);
      if (query - key < kPanel) scores = select(hidden(query - key + row, c), 0.0F, scores);
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
  static void add(const float* left, const float* right, std::int64_t terms, Sums sums, float* to) {
    PanelTile tile;
    if (sums == Sums::GoOn) tile.load(to);
    tile.multiply<kLeft>(left, kBlock * kPanel, right, terms);
    tile.store(to);
  }

  Shape shape_;
  const T* dy_;
  const T* x_;
  const T* y_;
  const float* l_;
  T* dx_;
  Heads heads_;
};

KernelPointer attention_backward(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(AttentionBackward<T>(request)); });
}

}  // namespace

KernelRows attention_backward_kernels() { return {{Op::AttentionBackward, attention_backward}}; }

}  // namespace regatta::cpu
