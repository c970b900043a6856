// SPDX-License-Identifier: Apache-2.0
//
// bf16_compress: gradients are sent as bf16. It rewrites the gradient sums of the strategy before
// it, as in `all_reduce+bf16_compress`. A worker casts its gradient to bf16 as soon as the backward
// pass has computed it, so that sums overlap with the rest of that pass, and casts the sum back to
// f32 before the update. Each of n workers rounds its gradient, and a sum is rounded n - 1 times,
// each by at most 2^-8 of its value; the rounding errors are lost. Half as many bytes travel.
// Source: PyTorch, torch.distributed.algorithms.ddp_comm_hooks.default_hooks, bf16_compress_hook.
#include <map>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/period.h"
#include "strategies/gradient_sums.h"
#include "strategies/shares.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

class Bf16Compress {
 public:
  explicit Bf16Compress(const Step& source)
      : source_(source), result_(source), copier_(source.graph), builder_(result_.graph) {
    result_.graph = Graph();
    for (const GradientSum& sum : gradient_sums(source, "bf16_compress")) {
      if (is_to_share(source.graph.node(sum.node))) {
        throw RunError(ErrorKind::Usage,
                       "strategy 'bf16_compress' casts sums that every worker has whole, and "
                       "these are divided among workers; fix: put it behind all_reduce");
      }
      const NodeId maker = source.graph.node(sum.node).inputs[0].node;
      made_by_[maker].push_back(sum.node);
      narrow_[sum.node] = {};
    }
  }

  Step rewritten();

 private:
  Builder& at(NodeId sum, Phase phase) {
    const Node& node = source_.graph.node(sum);
    return builder_.at(node.place).in(phase).layer(node.layer).only(period_of(node));
  }
  void narrow(NodeId sum) {
    const Value gradient = copier_.value(source_.graph.node(sum).inputs[0]);
    narrow_[sum] = at(sum, Phase::Communication).cast(gradient, ElementType::BF16);
  }
  void exchange(NodeId sum) {
    Node node = source_.graph.node(sum);
    node.inputs = {narrow_[sum]};
    node.attributes.erase(kOuterGradient);  // compressed from here on
    sums_[sum] = {result_.graph.add(std::move(node)), 0};
  }
  void widen() {
    for (const auto& [sum, value] : sums_) {
      copier_.map({sum, 0}, at(sum, Phase::Update).cast(value, ElementType::F32));
    }
  }

  const Step& source_;
  std::map<NodeId, std::vector<NodeId>> made_by_;  ///< sums, by the node that makes their gradient
  std::map<NodeId, Value> narrow_;                 ///< the bf16 gradient in the result, by sum
  std::map<NodeId, Value> sums_;                   ///< the sum in the result, by sum
  Step result_;
  Copier copier_;
  Builder builder_;
};

/// Widens at the last sum, because no node reads a sum before: all buckets are exchanged there.
Step Bf16Compress::rewritten() {
  copier_.copy_variables(result_.graph);
  for (NodeId id = 0; id < static_cast<NodeId>(source_.graph.nodes().size()); ++id) {
    if (narrow_.contains(id)) {
      exchange(id);
      if (id == narrow_.rbegin()->first) widen();
    } else {
      copier_.copy(id, result_.graph);
    }
    for (const NodeId sum : made_by_[id]) narrow(sum);
  }
  copier_.rename(result_);
  return std::move(result_);
}

Step bf16_compress(const Step& step, const StrategyOptions& /*options*/) {
  return Bf16Compress(step).rewritten();
}

}  // namespace

extern constinit const Strategy kBf16Compress = {
    .name = "bf16_compress",
    .term = "DDP's bf16_compress_hook",
    .summary = "after all_reduce or diloco: gradients travel as bf16",
    .colour = "#FF7755",
    .workers = WorkersAre::ThoseOfPrevious,
    .exchange = Exchange::Compressed,
    .processes = Processes::OfWorkers,
    .options = {},
    .rewrite = bf16_compress};

}  // namespace regatta::strategies
