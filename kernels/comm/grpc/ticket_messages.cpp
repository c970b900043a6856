// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/ticket_messages.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "kernels/runtime/counter.h"

namespace regatta::comm {
namespace {

constexpr std::int64_t kFirstMessage = std::int64_t{1} << 30;

}  // namespace

TicketMessages::TicketMessages(const Step& part, const KernelTable& table) {
  if (part.partition.loops <= 1) return;
  const auto& nodes = part.graph.nodes();
  has_quorum_ = std::any_of(nodes.begin(), nodes.end(),
                            [](const Node& node) { return node.op == Op::Quorum; });
  const int here = part.partition.process;
  for (const LoopPart& loop : part.partition.parts) {
    const int leader = loop.processes.front();
    for (int process : loop.processes) loops_of_[process].push_back(loop.number);
    if (here != leader) add_line(table, Op::Receive, loop.number, leader);
    for (int process : loop.processes) {
      if (here == leader && process != leader) add_line(table, Op::Send, loop.number, process);
    }
  }
}

void TicketMessages::add_line(const KernelTable& table, Op op, int loop, int peer) {
  Line& line = lines_[loop].emplace_back();
  line.node.op = op;
  line.node.attributes = {{"message", kFirstMessage + loop},
                          {"peer", std::int64_t{peer}},
                          {"control", std::int64_t{1}}};
  line.tensor = {Tensor{.type = {ElementType::I32, {static_cast<std::int64_t>(line.words.size())}},
                        .data = line.words.data()}};
  KernelRequest request{.node = line.node};
  (op == Op::Send ? request.inputs : request.outputs) = line.tensor;
  request.abort = &line.abort;
  line.kernel = table.build(request);
}

void TicketMessages::publish(int loop, const Ticket& ticket) {
  const auto examples = static_cast<std::uint64_t>(ticket.examples);
  for (Line& line : lines_.at(loop)) {
    line.words = {ticket.runs ? 1 : 0, static_cast<std::int32_t>(examples & 0xFFFFFFFFU),
                  static_cast<std::int32_t>(examples >> 32U), ticket.ends ? 1 : 0};
    run(line, loop);
  }
}

/// Runs a line's kernel. Throws: RunError(PeerLost) if the loop's other process is lost.
void TicketMessages::run(Line& line, int loop) {
  try {
    line.kernel->run({.step = line.tickets++, .examples = 0, .counters = &line.counters});
  } catch (const Aborted&) {
    const std::lock_guard lock(mutex_);
    const auto reason = lost_.find(loop);
    if (reason == lost_.end()) throw;
    throw RunError(ErrorKind::PeerLost, reason->second);
  }
}

Ticket TicketMessages::next(int loop) {
  Line& line = lines_.at(loop).front();
  run(line, loop);
  const auto low = static_cast<std::uint32_t>(line.words[1]);
  const auto high = static_cast<std::uint32_t>(line.words[2]);
  return {.runs = line.words[0] != 0,
          .ends = line.words[3] != 0,
          .examples = static_cast<std::int64_t>(std::uint64_t{high} << 32U | low)};
}

void TicketMessages::lose(int process, const std::string& reason) {
  const auto loops = loops_of_.find(process);
  if (has_quorum_ || loops == loops_of_.end()) return;
  for (int loop : loops->second) {
    {
      const std::lock_guard lock(mutex_);
      lost_.try_emplace(loop, reason);
    }
    abandon(loop);
  }
}

void TicketMessages::abandon(int loop) {
  const auto found = lines_.find(loop);
  if (found == lines_.end()) return;
  for (Line& line : found->second) line.abort.raised = true;
}

}  // namespace regatta::comm
