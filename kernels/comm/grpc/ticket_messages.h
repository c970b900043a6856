// SPDX-License-Identifier: Apache-2.0
//
// Sends the tickets of loops that span processes (kernels/runtime/loops/gate.h) as messages, over
// the transport that carries the graph's values. The process that leads a loop has a send kernel
// for every other process of the loop, which has the receive kernel. The numbers of these messages
// follow those of the graph's messages. Their bytes are control data, like headers, and are not
// counted as traffic.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/loops/gate.h"

namespace regatta::comm {

class TicketMessages final : public TicketPost {
 public:
  /// `table` must have the kernels of send and receive. Called before any process runs a step.
  TicketMessages(const Step& part, const KernelTable& table);

  void publish(int loop, const Ticket& ticket) override;
  Ticket next(int loop) override;
  void abandon(int loop) override;

  /// Makes next() throw RunError(PeerLost) with `reason` for the loops of `process`, which is lost,
  /// unless the graph has a quorum: the first server then ends the loop and informs the other
  /// processes by a ticket. Threads: any.
  void lose(int process, const std::string& reason);

 private:
  /// The tickets of one loop to or from one other process.
  struct Line {
    std::array<std::int32_t, 4> words{};  ///< runs, examples (low and high half), ends
    Node node;
    std::array<Tensor, 1> tensor;
    AbortFlag abort;
    LaneCounters counters;
    std::unique_ptr<Kernel> kernel;
    std::int64_t tickets = 0;
  };
  void run(Line& line, int loop);
  void add_line(const KernelTable& table, Op op, int loop, int peer);

  bool has_quorum_ = false;
  std::map<int, std::vector<int>> loops_of_;  ///< by process
  std::mutex mutex_;
  std::map<int, std::string> lost_;  ///< reason for the loss, by loop

  std::map<int, std::deque<Line>> lines_;  ///< by loop; not changed after the constructor
};

}  // namespace regatta::comm
