// SPDX-License-Identifier: Apache-2.0
//
// attention (formulas: kernels/graph/ops/attention.cpp). A panel of queries meets a block of keys
// at a time and keeps the largest score, the sum of exp(score - largest) and that of such weights
// times values; a larger score scales the sums down. A query has a lane, so that no sum or largest
// of its scores goes across lanes.
#include <limits>

#include "kernels/cpu/attention_heads.h"
#include "kernels/cpu/vector_math.h"

namespace regatta::cpu {
namespace {

using heads::Heads;
using heads::Parts;
using heads::Shape;
using heads::unseen;

constexpr std::int64_t kKeys = 128;  ///< of a block
constexpr std::int64_t kSums = 2;    ///< side by side, which hides their latency
constexpr float kNever = -std::numeric_limits<float>::infinity();

template <typename T>
class Attention {
 public:
  explicit Attention(const KernelRequest& request)
      : shape_(request.inputs[0].type, request.node.attributes.integer("heads")),
        x_(request.inputs[0].as<T>()),
        y_(request.outputs[0].as<T>()),
        l_(request.outputs[1].f32()),
        heads_(shape_, request.threads,
               2 * shape_.matrix() + kPanel * (2 * shape_.columns() + kKeys)) {}

  void operator()(const StepContext&) const {
    heads_.run([this](std::int64_t index, Parts scratch) {
      float* keys = scratch.take(shape_.matrix());
      float* values = scratch.take(shape_.matrix());
      Tokens block{.query = scratch.take(kPanel * shape_.columns()),
                   .scores = scratch.take(kPanel * kKeys),
                   .y = scratch.take(kPanel * shape_.columns())};
      pack(shape_.in_x(x_, index, 1), shape_.padded(), shape_.factor(), keys);
      pack(shape_.in_x(x_, index, 2), shape_.padded(), 1, values);
      const RowsOf<const T> queries = shape_.in_x(x_, index, 0);
      for (std::int64_t first = 0; first < shape_.tokens; first += kPanel) {
        const std::int64_t rows = std::min(kPanel, shape_.tokens - first);
        block.begin(first, shape_.columns());
        pack_transposed<T>(
            {queries.at + first * queries.stride, queries.stride, rows, shape_.channels},
            block.query);
        for (std::int64_t u = 0; u <= first; u += kKeys) meet(block, u, keys, values);
        finish(block, rows, index);
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
    float largest[kPanel] = {};
    float sum[kPanel] = {};         ///< of exp(score - largest)
    float correction[kPanel] = {};  ///< of sums over earlier blocks of keys

    void begin(std::int64_t token, std::int64_t columns) {
      first = token;
      std::fill_n(y, kPanel * columns, 0.0F);
      std::fill_n(largest, kPanel, kNever);
      std::fill_n(sum, kPanel, 0.0F);
    }

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

  void meet(Tokens& block, std::int64_t key, const float* keys, const float* values) const {
    const std::int64_t count = std::min(kKeys, block.first + kPanel - key);
    const std::int64_t diagonal = block.first - key < count ? block.first - key : -1;
    for (std::int64_t u = 0; u < count; u += kPanel) {
      for (std::int64_t r = 0; r < kPanel; r += kTileRows) {
        PanelTile tile;
        tile.multiply<Left::Plain>(keys + (key + u + r) * kPanel, shape_.padded() * kPanel,
                                   block.query, shape_.columns());
        if (u == diagonal) {
          tile.each([&](Lanes& scores, auto row, auto c) {
            scores = select(unseen(r + row, c), kNever, scores);
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
        tile.multiply<Left::Transposed>(block.scores + r, 0,
                                        values + c * shape_.padded() + key * kPanel,
                                        std::min(count, block.first + r + kTileRows - key));
        tile.store(y);
      }
    }
  }

  void finish(const Tokens& block, std::int64_t rows, std::int64_t index) const {
    const RowsOf<T> y = shape_.in_y(y_, index);
    for (std::int64_t r = 0; r < rows; ++r) {
      unpack_row(block.y + r * kPanel, kPanel, 1 / block.sum[r], shape_.channels,
                 y.at + (block.first + r) * y.stride);
      l_[index * shape_.tokens + block.first + r] = block.largest[r] + std::log(block.sum[r]);
    }
  }

  Shape shape_;
  const T* x_;
  T* y_;
  float* l_;
  Heads heads_;
};

KernelPointer attention(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(Attention<T>(request)); });
}

}  // namespace

KernelRows attention_kernels() { return {{Op::Attention, attention}}; }

}  // namespace regatta::cpu
