// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/quorums.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "kernels/distribute/partition.h"

namespace regatta {
namespace {

constexpr int kDeciding = 0;  // the server

}  // namespace

bool is_behind_quorum(const Graph& graph, const Node& node) {
  return op_info(node.op).assigns &&
         std::any_of(node.variables.begin(), node.variables.end(),
                     [&](VariableId v) { return graph.variable(v).sharing == Sharing::Quorum; });
}

std::map<int, QuorumOptions> quorums_of(const Step& part) {
  std::map<int, QuorumOptions> quorums;
  std::map<int, std::int64_t> updates;  // of the first member, and so of each
  for (const Node& node : part.graph.nodes()) {
    if (node.op == Op::Quorum) {
      quorums[node.place.stage] = {.needed = node.attributes.integer("needed"),
                                   .members = node.attributes.integer("members"),
                                   .batch = part.global_batch};
    } else if (node.place.replica == 0 && is_behind_quorum(part.graph, node)) {
      ++updates[node.place.stage];
    }
  }
  for (auto& [server, options] : quorums) options.updates = updates[server];
  return quorums;
}

Quorums::Quorums(const Step& part, const Plan& plan, const ProcessLoops& loops, OnLoss on_loss,
                 ExampleCount& count)
    : on_loss_(on_loss) {
  for (auto [server, options] : quorums_of(part)) {
    if (server == kDeciding) options.applied_examples = &count.claimed;
    quorums_.try_emplace(server, options);
  }
  for (NodeId id = 0; id < static_cast<NodeId>(part.graph.nodes().size()); ++id) {
    const Node& node = part.graph.node(id);
    if (node.op != Op::Quorum) continue;
    const int lane = plan.lane_of(id);
    const int loop = loops.number(plan.lanes()[static_cast<std::size_t>(lane)].loop);
    member_of_[loop] = node.member;
    absences_.try_emplace(loop);
  }
}

Quorum* Quorums::at(const Place& place) {
  const auto found = quorums_.find(place.stage);
  return place.role != Role::Server || found == quorums_.end() ? nullptr : &found->second;
}

std::unique_ptr<Kernel> Quorums::behind(const Graph& graph, const Node& node,
                                        std::unique_ptr<Kernel> kernel) {
  if (!is_behind_quorum(graph, node)) return kernel;
  Quorum* const quorum = at(node.place);
  check(quorum != nullptr, "what a quorum assigns stands at its server");
  return quorum->behind(node.place.replica, std::move(kernel));
}

Absence* Quorums::absence(int loop) {
  const auto found = absences_.find(loop);
  return on_loss_ == OnLoss::End || found == absences_.end() ? nullptr : &found->second;
}

Absence* Quorums::absence(const Node& node, int loop) {
  Absence* const noted = absence(loop);
  if (noted == nullptr) return nullptr;
  if (node.op == Op::Send && receiver_of(node).role == Role::Server) return nullptr;
  if (node.op == Op::Receive && sender_of(node).role == Role::Server) return nullptr;
  return noted;
}

void Quorums::begin_at(std::int64_t steps, std::int64_t examples) {
  for (auto& [server, quorum] : quorums_) quorum.begin_at(steps, examples);
}

Ticket Quorums::begin(int loop, const ExampleCount& count, const Patience& patience) {
  const std::int64_t examples = quorums_.at(kDeciding).begin(member_of_.at(loop), patience);
  const Ticket ticket{.runs = examples < count.target.load(std::memory_order_relaxed),
                      .examples = examples};
  await(ticket, patience);
  return ticket;
}

void Quorums::await(const Ticket& ticket, const Patience& patience) {
  for (auto& [server, quorum] : quorums_) {
    if (server != kDeciding) quorum.await(ticket.examples, patience);
  }
}

std::pair<std::int64_t, std::int64_t> Quorums::pushes(const Place& place) const {
  const auto found = quorums_.find(place.stage);
  if (place.role != Role::Server || found == quorums_.end()) return {};
  return {found->second.applied(place.replica), found->second.dropped(place.replica)};
}

std::string Quorums::retire(int loop) {
  std::string reason;
  for (auto& [server, quorum] : quorums_) reason = quorum.retire(member_of_.at(loop));
  return reason;
}

}  // namespace regatta
