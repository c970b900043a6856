// SPDX-License-Identifier: Apache-2.0
//
// attention and its gradient; formulas are in kernels/graph/ops/attention.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/graph/chunks.h"
#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

/// One head of one sequence.
struct Head {
  const Chunks& queries;
  const Chunks& keys;
  std::int64_t heads, channels, sequence, head;
  std::int64_t key_parts;  ///< of a token with keys: 3 in x, 2 in kv

  double factor() const { return 1 / std::sqrt(static_cast<double>(channels)); }
  std::int64_t tokens() const { return queries.count() * queries.length; }
  std::int64_t key_tokens() const { return keys.count() * keys.length; }
  bool sees(std::int64_t token, std::int64_t key) const {
    return keys.position(key) <= queries.position(token);
  }
  /// The first channel of a token's query in x, of its key or value, and in y.
  std::int64_t query_at(std::int64_t token) const { return at(sequence * tokens() + token, 3, 0); }
  std::int64_t key_at(std::int64_t token) const {
    return at(sequence * key_tokens() + token, key_parts, key_parts - 2);
  }
  std::int64_t value_at(std::int64_t token) const {
    return at(sequence * key_tokens() + token, key_parts, key_parts - 1);
  }
  std::int64_t at(std::int64_t token) const { return at(sequence * tokens() + token, 1, 0); }
  std::int64_t log_at(std::int64_t token) const {
    return (sequence * heads + head) * tokens() + token;
  }
  double dot(const float* a, const float* b) const {
    double sum = 0;
    for (std::int64_t d = 0; d < channels; ++d) sum += double{a[d]} * b[d];
    return sum;
  }
  double score(const float* x, const float* kv, std::int64_t token, std::int64_t key) const {
    return dot(x + query_at(token), kv + key_at(key)) * factor();
  }

 private:
  std::int64_t at(std::int64_t token, std::int64_t parts, std::int64_t part) const {
    return ((token * parts + part) * heads + head) * channels;
  }
};

/// Calls body(head) for all heads of all sequences.
template <typename Body>
void for_each_head(const TensorType& x, const TensorType& kv, const Attributes& attributes,
                   const Body& body) {
  const Chunks queries = chunks_of(attributes, "queries", x.dim(1));
  const Chunks keys = chunks_of(attributes, "keys", kv.dim(1));
  const std::int64_t heads = attributes.integer("heads"), channels = x.dim(2) / (3 * heads);
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      body(Head{queries, keys, heads, channels, b, h, kv.dim(2) / (heads * channels)});
    }
  }
}

KernelPointer attention(const KernelRequest& request) {
  const bool is_block = request.inputs.size() > 1, is_first = request.inputs.size() < 4;
  const Tensor x = request.inputs[0], kv = request.inputs[is_block ? 1 : 0];
  const Tensor earlier_y = request.inputs[is_first ? 0 : 2];
  const Tensor earlier_l = request.inputs[is_first ? 0 : 3];
  const Tensor y = request.outputs[0], l = request.outputs[1];
  return make_kernel([=, attributes = request.node.attributes](const StepContext&) {
    for_each_head(x.type, kv.type, attributes, [&](const Head& head) {
      for (std::int64_t t = 0; t < head.tokens(); ++t) {
        const std::int64_t at = head.log_at(t);
        const double before =
            is_first ? -std::numeric_limits<double>::infinity() : double{earlier_l.f32()[at]};
        std::vector<std::pair<std::int64_t, double>> scores;
        double largest = before;
        for (std::int64_t u = 0; u < head.key_tokens(); ++u) {
          if (!head.sees(t, u)) continue;
          scores.emplace_back(u, head.score(x.f32(), kv.f32(), t, u));
          largest = std::max(largest, scores.back().second);
        }
        double sum = std::exp(before - largest);
        for (const auto& [u, score] : scores) sum += std::exp(score - largest);
        const double log_sum = largest + std::log(sum);
        l.f32()[at] = static_cast<float>(log_sum);
        for (std::int64_t d = 0; d < head.channels; ++d) {
          double total =
              is_first ? 0 : std::exp(before - log_sum) * earlier_y.f32()[head.at(t) + d];
          for (const auto& [u, score] : scores) {
            total += std::exp(score - log_sum) * kv.f32()[head.value_at(u) + d];
          }
          y.f32()[head.at(t) + d] = static_cast<float>(total);
        }
      }
    });
  });
}

KernelPointer attention_backward(const KernelRequest& request) {
  const bool is_block = request.inputs.size() > 4;
  const Tensor dy = request.inputs[0], x = request.inputs[1], y = request.inputs[2],
               l = request.inputs[3], kv = request.inputs[is_block ? 4 : 1],
               dx = request.outputs[0], dkv = request.outputs[is_block ? 1 : 0];
  return make_kernel([=, attributes = request.node.attributes](const StepContext&) {
    std::vector<double> queries(static_cast<std::size_t>(dx.elements()));
    std::vector<double> others(static_cast<std::size_t>(dkv.elements()));
    std::vector<double>& keys = is_block ? others : queries;  // otherwise parts of one tensor
    for_each_head(x.type, kv.type, attributes, [&](const Head& head) {
      for (std::int64_t t = 0; t < head.tokens(); ++t) {
        const float* dy_t = dy.f32() + head.at(t);
        const double e = head.dot(dy_t, y.f32() + head.at(t));
        double* dq = queries.data() + (is_block ? head.at(t) : head.query_at(t));
        for (std::int64_t u = 0; u < head.key_tokens(); ++u) {
          if (!head.sees(t, u)) continue;
          const double p = std::exp(head.score(x.f32(), kv.f32(), t, u) - l.f32()[head.log_at(t)]);
          const double ds = p * (head.dot(dy_t, kv.f32() + head.value_at(u)) - e) * head.factor();
          double *dk = keys.data() + head.key_at(u), *dv = keys.data() + head.value_at(u);
          for (std::int64_t d = 0; d < head.channels; ++d) {
            dq[d] += ds * kv.f32()[head.key_at(u) + d];
            dk[d] += ds * x.f32()[head.query_at(t) + d];
            dv[d] += p * dy_t[d];
          }
        }
      }
    });
    const auto write = [](const std::vector<double>& sums, const Tensor& to) {
      std::transform(sums.begin(), sums.end(), to.f32(),
                     [](double sum) { return static_cast<float>(sum); });
    };
    write(queries, dx);
    if (is_block) write(others, dkv);
  });
}

}  // namespace

KernelRows attention_kernels() {
  return {{Op::Attention, attention}, {Op::AttentionBackward, attention_backward}};
}

}  // namespace regatta::reference
