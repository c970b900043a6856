// SPDX-License-Identifier: Apache-2.0
//
// The lanes of one loop as one recorded step. The rule: every node's work has to be in a queue. So
// it is where a device computes what does not cross places; what does has to be a QueuedExchange
// (copies and NCCL's sums are, messages and sums of the host are not). Kernels read what
// changes from step to step (LaneQueue::begin_step), so one recording serves all steps but for
// nodes that expire (kernels/graph/expiry.h): there is one for each set of those that still run.
// Threads: record() by the executor's owner, before the first run; run() by the loop's leader.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class Lane;
class QueuedExchange;

class CapturedLoop {
 public:
  struct Request {
    const Graph& graph;
    std::vector<Lane*> lanes;                ///< of the loop, the leader first
    std::span<Lane* const> all_lanes;        ///< as dependencies number them; needed by record()
    std::span<const std::int64_t> expiries;  ///< by node
    Device& device;
  };

  explicit CapturedLoop(const Request& request);
  ~CapturedLoop();

  /// Throws: RunError(Unsupported) for a node or a device that cannot be recorded, RunError(Device)
  /// of what the device reports; both name the op.
  void record();

  /// One step, done when it returns.
  /// Throws: RunError, Aborted; then it has given up what was under way and runs no more.
  void run(const StepContext& context, const Patience& patience);

  std::span<Lane* const> lanes() const { return request_.lanes; }

 private:
  /// Steps that begin with fewer examples seen than `end`.
  struct Phase {
    std::int64_t end = 0;
    std::unique_ptr<RecordedStep> step;
    std::vector<QueuedExchange*> exchanges;
    std::vector<QueuedExchange*> awaiting;  ///< those of them that wait for others
  };
  /// Where a node runs.
  struct Turn {
    NodeId node = -1;
    std::size_t lane = 0;  ///< of the loop's
    std::size_t index = 0;
  };

  Phase record_phase(std::int64_t begin) const;
  void put(const Turn& turn, const StepContext& context, Phase& phase) const;
  Phase& phase_at(std::int64_t examples);
  void await(const Phase& phase, const Patience& patience) const;
  void give_up() noexcept;

  Request request_;
  std::vector<Turn> turns_;  ///< in the order of the graph
  std::vector<Phase> phases_;
};

/// One for each loop of the lanes, recorded; the lanes know of it. Expiries are by node.
/// Throws: as record().
std::vector<std::unique_ptr<CapturedLoop>> capture_loops(
    const Graph& graph, std::span<const std::unique_ptr<Lane>> lanes,
    std::span<const std::int64_t> expiries, Device& device);

}  // namespace regatta
