// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/expiry.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/graph/collective.h"

namespace regatta {
namespace {

/// The examples seen at which the rate of an update becomes zero for good.
std::int64_t end_of_learning(const Node& update) {
  const std::vector<double>& values = update.attributes.reals("schedule_values");
  const std::vector<double>& examples = update.attributes.reals("schedule_examples");
  const auto last = std::find_if(values.rbegin(), values.rend(), [](double v) { return v != 0; });
  if (last == values.rbegin()) return kNeverExpires;
  if (last == values.rend()) return 0;
  const auto first_zero = static_cast<std::size_t>(values.rend() - last);
  if (first_zero + 1 == values.size()) return kNeverExpires;
  return static_cast<std::int64_t>(std::ceil(examples[first_zero]));
}

bool learns(const Node& node) { return op_info(node.op).learns; }

/// A tensor of a bucket that members divide: the collective's group and the tensor's number.
using BucketTensor = std::pair<std::int64_t, std::size_t>;

/// Until when the sums of each tensor are needed, over all members that have pieces of it.
std::map<BucketTensor, std::int64_t> scattered(const Graph& graph) {
  std::map<Value, std::int64_t> read;
  for (const Node& node : graph.nodes()) {
    const std::int64_t until = learns(node) ? end_of_learning(node) : kNeverExpires;
    for (const Value input : node.inputs) read[input] = std::max(read[input], until);
  }
  std::map<BucketTensor, std::int64_t> needed;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op != Op::ReduceScatter) continue;
    const std::vector<Piece> own =
        pieces(bucket_of(graph, node), node.attributes.integer("members"), node.member);
    for (std::size_t p = 0; p < own.size(); ++p) {
      std::int64_t& until = needed[{node.attributes.integer("group"), own[p].tensor}];
      until = std::max(until, read[{id, static_cast<int>(p)}]);
    }
  }
  return needed;
}

}  // namespace

std::vector<std::int64_t> expiries(const Step& step) {
  const std::vector<Node>& nodes = step.graph.nodes();
  std::vector<std::int64_t> expiry(nodes.size(), kNeverExpires);
  std::map<Value, std::int64_t> needed;  // until when each value is read
  const std::map<BucketTensor, std::int64_t> of_buckets = scattered(step.graph);
  for (Value loss : step.losses) needed[loss] = kNeverExpires;
  for (std::size_t id = nodes.size(); id-- > 0;) {
    const Node& node = nodes[id];
    std::vector<std::int64_t> outputs;  // until when each is needed; 0: it is never read
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i) {
      const auto found = needed.find({static_cast<NodeId>(id), i});
      outputs.push_back(found == needed.end() ? 0 : found->second);
    }
    const std::int64_t read =
        outputs.empty() ? 0 : *std::max_element(outputs.begin(), outputs.end());
    if (learns(node)) {
      expiry[id] = end_of_learning(node);
    } else if (read > 0 && !op_info(node.op).assigns && !op_info(node.op).crosses) {
      expiry[id] = read;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      // Values that cross places always travel, so that the traffic stays as computed and both
      // sides agree; the nodes before them run only as long as the values are needed.
      const bool passes = op_info(node.op).crosses && i < outputs.size();
      std::int64_t until = passes ? outputs[i] : expiry[id];
      if (node.op == Op::AllGather) until = kNeverExpires;  // parameters, or values it waits for
      if (node.op == Op::ReduceScatter) {
        const auto found = of_buckets.find({node.attributes.integer("group"), i});
        if (found != of_buckets.end()) {
          until = found->second;
        } else {  // its sums are those of members that are not built
          until = kNeverExpires;
        }
      }
      std::int64_t& input = needed[node.inputs[i]];
      input = std::max(input, until);
    }
  }
  return expiry;
}

}  // namespace regatta
