// SPDX-License-Identifier: Apache-2.0
//
// attention (formulas: kernels/graph/ops/attention.cpp). A panel of queries meets a block of keys
// at a time and keeps the largest score, the sum of exp(score - largest) and that of such weights
// times values; a larger score scales the sums down.
#include <limits>

#include "kernels/cpu/attention_heads.h"
#include "kernels/cpu/vector_math.h"

namespace regatta::cpu {
namespace {

using heads::Heads;
using heads::hidden;
using heads::Parts;
using heads::Shape;

constexpr std::int64_t kKeys = 128;  ///< of a block
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
      pack_transposed(shape_.in_x(x_, index, 1), keys);
      pack(shape_.in_x(x_, index, 2), shape_.padded(), 1, values);
      const RowsOf<const T> queries = shape_.in_x(x_, index, 0);
      for (std::int64_t first = 0; first < shape_.tokens; first += kPanel) {
        const std::int64_t rows = std::min(kPanel, shape_.tokens - first);
        block.begin(first, shape_.columns());
        pack<T>({queries.at + first * queries.stride, queries.stride, rows, shape_.channels},
                kPanel, shape_.factor(), block.query);
        for (std::int64_t u = 0; u <= first; u += kKeys) meet(block, u, keys, values);
        finish(block, rows, index);
      }
    });
  }

 private:
  /// kPanel queries and their results, unfinished until they have met all keys.
  struct Tokens {
    float* query;   ///< [columns / 16, 16, 16]
    float* scores;  ///< [keys / 16, 16, 16]
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
      for (std::int64_t r = 0; r < kPanel; ++r) {
        float* row = scores + r * kPanel;
        const auto each = [&](const auto& body) {
          for (std::int64_t p = 0; p < keys; p += kPanel) {
            for (std::int64_t c = 0; c < kPanel; c += kLanes) body(row + p * kPanel + c);
          }
        };
        Lanes most = all(largest[r]);
        each([&](float* at) { most = larger(load_lanes(at, AllLanes{}), most); });
        const float now = largest_lane(most);
        Lanes total{};
        each([&](float* at) {
          const Lanes weight = fast_exp_of_negative(load_lanes(at, AllLanes{}) - now);
          store_lanes(at, weight, AllLanes{});
          total += weight;
        });
        correction[r] = fast_exp_of_negative(largest[r] - now);
        sum[r] = sum[r] * correction[r] + sum_of_lanes(total);
        largest[r] = now;
        if (diagonal >= 0) std::fill_n(row + diagonal * kPanel + r + 1, kPanel - r - 1, 0.0F);
      }
    }
  };

  void meet(Tokens& block, std::int64_t key, const float* keys, const float* values) const {
    const std::int64_t count = std::min(kKeys, block.first + kPanel - key);
    const std::int64_t diagonal = block.first - key < count ? block.first - key : -1;
    for (std::int64_t u = 0; u < count; u += kPanel) {
      for (std::int64_t r = 0; r < kPanel; r += kTileRows) {
        PanelTile tile;
        tile.multiply<Left::Plain>(block.query + r * kPanel, kPanel * kPanel,
                                   keys + (key + u) * shape_.columns(), shape_.columns());
        if (u == diagonal) {
          tile.each([&](Lanes& scores, auto row, auto c) {
            scores = select(hidden(r + row, c), kNever, scores);
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
        tile.multiply<Left::Plain>(block.scores + r * kPanel, kPanel * kPanel,
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
