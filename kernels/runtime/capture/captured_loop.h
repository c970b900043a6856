// SPDX-License-Identifier: Apache-2.0
//
// The lanes of one loop as one recorded step. The rule: every node's work has to be in a queue. So
// it is where a device computes what does not cross places; what does has to be a QueuedExchange
// (copies, NCCL's sums and those of replicas that share a GPU are, messages and sums of the host
// are not). Where members of an exchange meet, one of them puts the work in, behind what all their
// queues hold, and the others' queues go on behind that. Kernels read what changes from step to
// step (LaneQueue::begin_step), so one recording serves all steps but for nodes that expire
// (kernels/graph/expiry.h): there is one for each set of those that still run.
// Threads: record() by the executor's owner, before the first run; run() by the loop's leader.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/capture/step_recorder.h"
#include "kernels/runtime/capture/turn_order.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class Lane;

class CapturedLoop {
 public:
  struct Request {
    const Graph& graph;
    std::vector<Lane*> lanes;                ///< of the loop, the leader first
    std::span<Lane* const> all_lanes;        ///< as dependencies number them; not kept
    std::span<const std::int64_t> expiries;  ///< by node
    Device& device;
  };

  /// When the lanes have their kernels.
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

  void add_nodes(std::span<Lane* const> all_lanes);
  Phase record_phase(std::int64_t begin) const;
  void put(const Turn& turn, const StepContext& context, StepRecorder& recorder,
           Phase& phase) const;
  static void meet(const Turn& turn, std::span<QueuedExchange* const> exchanges,
                   StepRecorder& recorder);
  Kernel& kernel(const Stand& stand) const;
  const QueuedNode& node_at(const Stand& stand) const { return nodes_[stand.lane][stand.index]; }
  bool is_awaited(const Stand& stand) const;
  Phase& phase_at(std::int64_t examples);
  void await(const Phase& phase, const Patience& patience) const;
  void give_up() noexcept;

  Request request_;
  std::vector<std::vector<QueuedNode>> nodes_;  ///< by lane
  std::vector<Turn> turns_;
  std::vector<Phase> phases_;
};

/// One for each loop of the lanes, recorded; the lanes know of it. Expiries are by node.
/// Throws: as record().
std::vector<std::unique_ptr<CapturedLoop>> capture_loops(
    const Graph& graph, std::span<const std::unique_ptr<Lane>> lanes,
    std::span<const std::int64_t> expiries, Device& device);

}  // namespace regatta
