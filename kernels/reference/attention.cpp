// SPDX-License-Identifier: Apache-2.0
//
// attention and its gradient; formulas are in kernels/graph/ops/attention.cpp.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

/// One head of one sequence.
struct Head {
  const TensorType& x;  ///< [B, S, 3 C]
  std::int64_t heads, sequence, head;

  std::int64_t tokens() const { return x.dim(1); }
  std::int64_t channels() const { return x.dim(2) / (3 * heads); }
  double factor() const { return 1 / std::sqrt(static_cast<double>(channels())); }
  /// The first channel of a token in x; `part`: 0 queries, 1 keys, 2 values.
  std::int64_t at(std::int64_t part, std::int64_t token) const {
    return (((sequence * tokens() + token) * 3 + part) * heads + head) * channels();
  }
  /// The first channel of a token in y.
  std::int64_t at(std::int64_t token) const {
    return ((sequence * tokens() + token) * heads + head) * channels();
  }
  std::int64_t log_at(std::int64_t token) const {
    return (sequence * heads + head) * tokens() + token;
  }
  double dot(const float* a, const float* b) const {
    double sum = 0;
    for (std::int64_t d = 0; d < channels(); ++d) sum += double{a[d]} * b[d];
    return sum;
  }
  double score(const float* elements, std::int64_t token, std::int64_t seen) const {
    return dot(elements + at(0, token), elements + at(1, seen)) * factor();
  }
};

template <typename Body>
void for_each_head(const TensorType& x, std::int64_t heads, const Body& body) {
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    for (std::int64_t h = 0; h < heads; ++h) body(Head{x, heads, b, h});
  }
}

KernelPointer attention(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0], l = request.outputs[1];
  const std::int64_t heads = request.node.attributes.integer("heads");
  return make_kernel([=](const StepContext&) {
    for_each_head(x.type, heads, [&](const Head& head) {
      for (std::int64_t t = 0; t < head.tokens(); ++t) {
        std::vector<double> scores;
        for (std::int64_t u = 0; u <= t; ++u) scores.push_back(head.score(x.f32(), t, u));
        const double largest = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (const double score : scores) sum += std::exp(score - largest);
        const double log_sum = largest + std::log(sum);
        l.f32()[head.log_at(t)] = static_cast<float>(log_sum);
        for (std::int64_t d = 0; d < head.channels(); ++d) {
          double total = 0;
          for (std::int64_t u = 0; u <= t; ++u) {
            total += std::exp(scores[static_cast<std::size_t>(u)] - log_sum) *
                     x.f32()[head.at(2, u) + d];
          }
          y.f32()[head.at(t) + d] = static_cast<float>(total);
        }
      }
    });
  });
}

KernelPointer attention_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], y = request.inputs[2],
               l = request.inputs[3], dx = request.outputs[0];
  const std::int64_t heads = request.node.attributes.integer("heads");
  return make_kernel([=](const StepContext&) {
    std::vector<double> total(static_cast<std::size_t>(dx.elements()));
    for_each_head(x.type, heads, [&](const Head& head) {
      for (std::int64_t t = 0; t < head.tokens(); ++t) {
        const float* dy_t = dy.f32() + head.at(t);
        const double e = head.dot(dy_t, y.f32() + head.at(t));
        double* dq = total.data() + head.at(0, t);
        for (std::int64_t u = 0; u <= t; ++u) {
          const double p = std::exp(head.score(x.f32(), t, u) - l.f32()[head.log_at(t)]);
          const double ds = p * (head.dot(dy_t, x.f32() + head.at(2, u)) - e) * head.factor();
          double *dk = total.data() + head.at(1, u), *dv = total.data() + head.at(2, u);
          for (std::int64_t d = 0; d < head.channels(); ++d) {
            dq[d] += ds * x.f32()[head.at(1, u) + d];
            dk[d] += ds * x.f32()[head.at(0, t) + d];
            dv[d] += p * dy_t[d];
          }
        }
      }
    });
    std::transform(total.begin(), total.end(), dx.f32(),
                   [](double sum) { return static_cast<float>(sum); });
  });
}

}  // namespace

KernelRows attention_kernels() {
  return {{Op::Attention, attention}, {Op::AttentionBackward, attention_backward}};
}

}  // namespace regatta::reference
