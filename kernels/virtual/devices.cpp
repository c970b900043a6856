// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/devices.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"
#include "kernels/virtual/kernel_load.h"

namespace regatta::virtual_time {
namespace {

/// Bytes that unfused attention moves for each score of 16 bits. Forward, the first product writes
/// it, the masked softmax and the dropout read and write it (and a byte of mask), and the second
/// product reads it. Backward, the product of gradients, dropout and softmax do the same, and three
/// products read it. Source: the kernels of Megatron-LM at the time of arXiv:2104.04473.
constexpr double kScoreForward = 13, kScoreBackward = 19;
/// Flash attention's backward pass has five products; multiply_adds() counts four. Source: Dao,
/// arXiv:2307.08691, section 3.1.
constexpr double kFlashBackward = 5.0 / 4;
constexpr double kCausal = 0.5;  ///< the part of the scores that flash attention computes

double number(double value, const DeviceProfile& profile, const std::string& key) {
  if (value > 0) return value;
  throw RunError(ErrorKind::Usage, "the profile '" + profile.name + "' has no " + key +
                                       ", which a kernel of this cell needs; fix: add it to the "
                                       "profile, or change --dtype or `attention`");
}

/// Whether the node adds a product of gradients of weights to a sum.
bool adds_product(const Graph& graph, const Node& node) {
  return node.op == Op::Sum && graph.node(node.inputs.back().node).op == Op::DenseBackwardWeights;
}

/// The work of attention in the given kernel: products and bytes.
KernelLoad attention_load(const Graph& graph, const Node& node, AttentionKernel kernel,
                          KernelLoad load) {
  const bool is_backward = node.op == Op::AttentionBackward;
  const TensorType& x = graph.type(node.inputs[is_backward ? 1 : 0]);
  load.element = x.element;
  if (kernel == AttentionKernel::Flash) {
    load.flop *= kCausal * (is_backward ? kFlashBackward : 1);
    return load;
  }
  const std::int64_t scores = x.dim(0) * x.dim(1) * x.dim(1) * node.attributes.integer("heads");
  load.bytes = static_cast<double>(scores) * (is_backward ? kScoreBackward : kScoreForward);
  return load;
}

double attention_share(const DeviceProfile& profile, AttentionKernel kernel, Op op) {
  if (kernel == AttentionKernel::Unfused) {
    return number(profile.unfused_share, profile, "unfused_share");
  }
  return op == Op::Attention
             ? number(profile.flash_forward_share, profile, "flash_forward_share")
             : number(profile.flash_backward_share, profile, "flash_backward_share");
}

/// Returns the hops and the bandwidth among `k` members in one host.
GroupAt inside_of(const Level& level, double k) {
  if (k <= 1) return {.members = 1, .hops_ns = 0, .bytes_per_ns = 0};
  if (level.groups.empty()) {
    return {
        .members = k, .hops_ns = 2 * (k - 1) * level.hop_ns, .bytes_per_ns = level.bytes_per_ns};
  }
  GroupAt before = level.groups.front();
  for (const GroupAt& each : level.groups) {
    if (k <= each.members) {
      if (each.members <= before.members) return each;
      const double part = (k - before.members) / (each.members - before.members);
      return {
          .members = k,
          .hops_ns = before.hops_ns + part * (each.hops_ns - before.hops_ns),
          .bytes_per_ns = before.bytes_per_ns + part * (each.bytes_per_ns - before.bytes_per_ns)};
    }
    before = each;
  }
  return before;
}

}  // namespace

double share_at(std::span<const ShareAt> points, double size) {
  if (points.empty()) return 1;
  if (size <= points.front().size) return points.front().share;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const ShareAt& low = points[i - 1];
    const ShareAt& high = points[i];
    if (size > high.size) continue;
    const double part = std::log(size / low.size) / std::log(high.size / low.size);
    return low.share + part * (high.share - low.share);
  }
  return points.back().share;
}

bool is_monotone(std::span<const ShareAt> points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const ShareAt& low = points[i - 1];
    const ShareAt& high = points[i];
    if (high.size <= low.size) return false;
    if (high.share - low.share > low.share * std::log(high.size / low.size)) return false;
  }
  return true;
}

double Devices::kernel_ns(const Graph& graph, NodeId id) const {
  const Node& node = graph.node(id);
  if (accumulation == Accumulation::Fused && adds_product(graph, node)) return 0;
  const bool is_attention = node.op == Op::Attention || node.op == Op::AttentionBackward;
  const KernelLoad load = is_attention ? attention_load(graph, node, attention, load_of(graph, id))
                                       : load_of(graph, id);
  const double memory =
      load.bytes / (profile.bytes_per_ns * share_at(profile.memory_shares, load.bytes));
  if (load.flop == 0) return profile.launch_ns + memory / attained;
  const auto peak = profile.flop_per_ns.find(load.element);
  const double rate = number(peak == profile.flop_per_ns.end() ? 0 : peak->second, profile,
                             load.element == ElementType::F32 ? "tflops_32" : "tflops_16") *
                      (is_attention ? attention_share(profile, attention, node.op)
                                    : share_at(profile.product_shares, load.flop));
  const double products = load.flop / rate;
  const bool apart = is_attention && attention == AttentionKernel::Unfused;  // several kernels
  return profile.launch_ns + (apart ? products + memory : std::max(products, memory)) / attained;
}

double Devices::between_bytes_per_ns(double members, std::int64_t hosts) const {
  const double host = cards * between.bytes_per_ns;
  const double part = std::min(1.0, members / per_host);
  return host * part / (hosts > hosts_per_switch ? oversubscription : 1);
}

double Devices::collective_ns(Op op, double bytes, std::span<const int> hosts) const {
  const auto n = static_cast<double>(hosts.size());
  if (hosts.size() < 2) return 0;
  std::map<int, double> members_on;
  for (const int host : hosts) ++members_on[host];
  double k = 0;
  for (const auto& [host, members] : members_on) k = std::max(k, members);
  const auto count = static_cast<std::int64_t>(members_on.size());
  const auto N = static_cast<double>(count);
  const GroupAt group = inside_of(inside, k);
  double rate = k > 1 ? group.bytes_per_ns : between_bytes_per_ns(k, count);
  if (k > 1 && count > 1) rate = std::min(rate, between_bytes_per_ns(k, count));
  const double base = count > 1 ? between.base_ns : inside.base_ns;
  const double hops = N * group.hops_ns + 2 * (N - 1) * between.hop_ns;
  const double moved = 2 * (n - 1) / n * bytes / rate;
  if (op != Op::AllReduce) return base + (hops + moved) / 2;
  const double ring = base + hops + moved;
  if (count == 1) return ring;
  const double tree = base + group.hops_ns + 2 * std::log2(N) * between.hop_ns +
                      2 * bytes / (between.tree_share * rate);
  return std::min(ring, tree);
}

}  // namespace regatta::virtual_time
