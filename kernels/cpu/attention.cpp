// SPDX-License-Identifier: Apache-2.0
//
// attention (formulas: kernels/graph/ops/attention.cpp). A panel of queries meets a block of keys
// at a time and keeps the largest score, the sum of exp(score - largest) and that of such weights
// times values; a larger score scales the sums down. A query has a lane, so that no sum or largest
// of its scores goes across lanes. Results over earlier blocks of keys are where it begins.

#include "kernels/cpu/attention_heads.h"
#include "kernels/cpu/softmax.h"
#include "kernels/cpu/vector_math.h"

namespace regatta::cpu {
namespace {

using heads::Heads;
using heads::Parts;
using heads::Shape;
using heads::Sight;
using heads::unseen;

constexpr std::int64_t kKeys = 128;  ///< of a block
constexpr std::int64_t kSums = 2;    ///< side by side, which hides their latency

/// T is the element type of x, Y that of y.
template <typename T, typename Y>
class Attention {
 public:
  explicit Attention(const KernelRequest& request)
      : shape_(request.inputs[0].type, keys_of(request).type, request.node.attributes),
        x_(request.inputs[0].as<T>()),
        kv_(keys_of(request).as<T>()),
        y_(request.outputs[0].as<Y>()),
        l_(request.outputs[1].f32()),
        heads_(
            shape_, request.threads,
            2 * shape_.keys.count() * shape_.matrix() + kPanel * (2 * shape_.columns() + kKeys)) {
    if (request.inputs.size() < 4) return;
    earlier_y_ = request.inputs[2].f32();
    earlier_l_ = request.inputs[3].f32();
  }

  void operator()(const StepContext&) const {
    heads_.run([this](std::int64_t index, Parts scratch) {
      float* keys = scratch.take(shape_.keys.count() * shape_.matrix());
      float* values = scratch.take(shape_.keys.count() * shape_.matrix());
      Tokens block{.query = scratch.take(kPanel * shape_.columns()),
                   .scores = scratch.take(kPanel * kKeys),
                   .y = scratch.take(kPanel * shape_.columns())};
      for (std::int64_t k = 0; k < shape_.keys.count(); ++k) {
        const std::int64_t at = k * shape_.matrix();
        pack(shape_.in_keys(kv_, index, k, 0), shape_.padded(), shape_.factor(), keys + at);
        pack(shape_.in_keys(kv_, index, k, 1), shape_.padded(), 1, values + at);
      }
      for (std::int64_t q = 0; q < shape_.queries.count(); ++q) {
        for (std::int64_t first = 0; first < shape_.tokens; first += kPanel) {
          begin(block, index, q, first);
          for (std::int64_t k = 0; k < shape_.keys.count(); ++k) {
            const Sight sight = shape_.sight(q, k);
            if (sight == Sight::None) continue;
            const Keys chunk{keys + k * shape_.matrix(), values + k * shape_.matrix(), sight,
                             sight == Sight::All ? shape_.padded() : first + kPanel};
            for (std::int64_t u = 0; u < chunk.end; u += kKeys) meet(block, u, chunk);
          }
          finish(block, index, q);
        }
      }
    });
  }

 private:
  /// kPanel queries and their results, unfinished until they have met all keys.
  struct Tokens {
    float* query;   ///< [columns, 16]: transposed
    float* scores;  ///< [keys, 16]: by queries
    float* y;       ///< [columns / 16, 16, 16]: the sum of exp(score - largest) times values
    std::int64_t first = 0;
    std::int64_t rows = 0;
    float largest[kPanel] = {};
    float sum[kPanel] = {};         ///< of exp(score - largest)
    float correction[kPanel] = {};  ///< of sums over earlier blocks of keys

    /// Turns the scores of `keys` keys into exp(score - largest); `largest` is of all keys so far.
    /// `diagonal`: the first key of the queries' own panel; -1: not among these keys.
    void weigh(std::int64_t keys, std::int64_t diagonal) {
      for (std::int64_t c = 0; c < kPanel; c += kLanes) {
        const auto each = [&](const auto& body) {
          for (std::int64_t key = 0; key < keys; key += kSums) {
#pragma GCC unroll 2
            for (std::int64_t i = 0; i < kSums; ++i) body(scores + (key + i) * kPanel + c, i);
          }
        };
        const Lanes before = load_lanes(largest + c, AllLanes{});
        Lanes most[kSums] = {before, before}, total[kSums] = {};
        each([&](const float* at, auto i) {
          most[i] = larger(load_lanes(at, AllLanes{}), most[i]);
        });
        const Lanes now = larger(most[0], most[1]);
        each([&](float* at, auto i) {
          const Lanes weight = fast_exp_of_negative(load_lanes(at, AllLanes{}) - now);
          store_lanes(at, weight, AllLanes{});
          total[i] += weight;
        });
        const Lanes down = fast_exp_of_negative(before - now);
        store_lanes(correction + c, down, AllLanes{});
        store_lanes(sum + c, load_lanes(sum + c, AllLanes{}) * down + (total[0] + total[1]),
                    AllLanes{});
        store_lanes(largest + c, now, AllLanes{});
        for (std::int64_t row = 0; diagonal >= 0 && row < kPanel; ++row) {
          float* weight = scores + (diagonal + row) * kPanel + c;
          store_lanes(weight, select(unseen(row, c), 0.0F, load_lanes(weight, AllLanes{})),
                      AllLanes{});
        }
      }
    }
  };

  /// One chunk of keys, packed.
  struct Keys {
    const float* keys;
    const float* values;
    Sight sight;
    std::int64_t end;  ///< of those that the queries see, in whole panels
  };

  static const Tensor& keys_of(const KernelRequest& request) {
    return request.inputs[request.inputs.size() > 1 ? 1 : 0];
  }

  /// Begins with a panel of queries, and with their results over earlier blocks of keys: a sum of
  /// one weight, whose score is l.
  void begin(Tokens& block, std::int64_t index, std::int64_t chunk, std::int64_t first) const {
    block.first = first;
    block.rows = std::min(kPanel, shape_.tokens - first);
    const auto panel = [&](auto rows) {
      rows.at += first * rows.stride;
      rows.rows = block.rows;
      return rows;
    };
    pack_transposed(panel(shape_.in_x(x_, index, chunk)), block.query);
    std::fill_n(block.largest, kPanel, kNever);
    std::fill_n(block.sum, kPanel, 0.0F);
    if (earlier_y_ == nullptr) {
      std::fill_n(block.y, kPanel * shape_.columns(), 0.0F);
      return;
    }
    pack(panel(shape_.in_y(earlier_y_, index, chunk)), kPanel, 1, block.y);
    std::copy_n(earlier_l_ + shape_.log_at(index, chunk) + first, block.rows, block.largest);
    std::fill_n(block.sum, block.rows, 1.0F);
  }

  void meet(Tokens& block, std::int64_t key, const Keys& chunk) const {
    const std::int64_t count = std::min(kKeys, chunk.end - key);
    const bool causal = chunk.sight == Sight::Causal;
    const std::int64_t diagonal = causal && block.first - key < count ? block.first - key : -1;
    for (std::int64_t u = 0; u < count; u += kPanel) {
      for (std::int64_t r = 0; r < kPanel; r += kTileRows) {
        PanelTile tile;
        tile.multiply<Left::Plain>(chunk.keys + (key + u + r) * kPanel, shape_.padded() * kPanel,
                                   block.query, shape_.columns());
        if (u == diagonal) {
          tile.each([&](Lanes& scores, auto row, auto c) {
            scores = select(unseen(r + row, c), kNever, scores);
          });
        } else if (key + u + kPanel > shape_.tokens) {
          const std::int64_t left = shape_.tokens - key - u - r;
          tile.each([&](Lanes& scores, auto row, auto) {
            if (row >= left) scores = Lanes{} + kNever;
          });
        }
        tile.store(block.scores + (u + r) * kPanel);
      }
    }
    block.weigh(count, diagonal);
    for (std::int64_t c = 0; c < shape_.columns(); c += kPanel) {
      for (std::int64_t r = 0; r < kPanel; r += kTileRows) {
        float* y = block.y + (c + r) * kPanel;
        PanelTile tile;
        tile.load(y);
        tile.each([&](Lanes& sums, auto row, auto) { sums *= block.correction[r + row]; });
        tile.multiply<Left::Transposed>(
            block.scores + r, 0, chunk.values + c * shape_.padded() + key * kPanel,
            causal ? std::min(count, block.first + r + kTileRows - key) : count);
        tile.store(y);
      }
    }
  }

  void finish(const Tokens& block, std::int64_t index, std::int64_t chunk) const {
    const RowsOf<Y> y = shape_.in_y(y_, index, chunk);
    float* l = l_ + shape_.log_at(index, chunk);
    for (std::int64_t r = 0; r < block.rows; ++r) {
      unpack_row(block.y + r * kPanel, kPanel, 1 / block.sum[r], shape_.channels,
                 y.at + (block.first + r) * y.stride);
      l[block.first + r] = block.largest[r] + std::log(block.sum[r]);
    }
  }

  Shape shape_;
  const T* x_;
  const T* kv_;
  const float* earlier_y_ = nullptr;  ///< null: this block is the first
  const float* earlier_l_ = nullptr;
  Y* y_;
  float* l_;
  Heads heads_;
};

KernelPointer attention(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    if (request.inputs.size() > 1) return make_kernel(Attention<T, float>(request));
    return make_kernel(Attention<T, T>(request));
  });
}

}  // namespace

KernelRows attention_kernels() { return {{Op::Attention, attention}}; }

}  // namespace regatta::cpu
