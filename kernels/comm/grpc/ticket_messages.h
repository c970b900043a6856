// SPDX-License-Identifier: Apache-2.0
//
// Tickets of loops that span processes, as messages of the transport that also carries values: a
// send from the process that leads a loop to every other process, and a receive there. Their
// message numbers follow those of values. Their bytes are control data, like headers, and do not
// count as traffic.
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

namespace regatta {

class TicketMessages final : public TicketPost {
 public:
  /// `table` has send and receive. Called before any process runs a step.
  TicketMessages(const Step& part, const KernelTable& table);

  void publish(int loop, const Ticket& ticket) override;
  Ticket next(int loop) override;
  void abandon(int loop) override;

  /// A process is lost: next() of its loops throws RunError(PeerLost). A loop with a quorum is an
  /// exception: the first server ends it and tells the others by a ticket. Threads: any.
  void lose(int process, const std::string& reason);

 private:
  /// One loop with one other process.
  struct Line {
    std::array<std::int32_t, 4> words{};  ///< runs, low and high half of examples, ends
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
  std::map<int, std::string> lost_;  ///< by loop: why

  std::map<int, std::deque<Line>> lines_;  ///< by loop; not changed after the constructor
};

}  // namespace regatta
