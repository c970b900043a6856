// SPDX-License-Identifier: Apache-2.0
//
// Records one step of a loop from all of its lanes, and launches every step as one. All work of the
// step must be in queues. Computation on a device with queues always is; communication is only if
// it is a QueuedExchange: copies, and collectives by NCCL or between replicas on one GPU, but not
// messages or sums by the host. The members of a shared launch (queued_exchange.h) wait for each
// other: one member enqueues the work behind everything in all their queues, and the other queues
// continue after it. Kernels read values that change from step to step from the device
// (LaneQueue::load_step), so one recording serves all steps until some node has run for the last
// time (kernels/graph/node_steps.h); then the next recording is used. Kernels that skip steps
// ("rest") all skip the same steps; a second recording serves these steps.
// Threads: record() is called by the executor's owner before the first run, run() by the loop's
// leader lane.
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
    std::vector<Lane*> lanes;          ///< the loop's lanes, the leader first
    std::span<Lane* const> all_lanes;  ///< all lanes of the process, as in the plan; not kept
    Device& device;
  };

  /// The lanes must already have their kernels.
  explicit CapturedLoop(const Request& request);
  ~CapturedLoop();

  /// Records the step. Throws: RunError(Unsupported) for a node or a device that cannot be
  /// recorded, RunError(Device) for errors that the device reports; both name the op.
  void record();

  /// Runs one step to its end.
  /// Throws: RunError, Aborted; the current step is then abandoned, and run() must not be called
  /// again.
  void run(const StepContext& context, const Patience& patience);

  std::span<Lane* const> lanes() const { return request_.lanes; }

 private:
  /// Recordings for the steps that begin with fewer than `end` examples seen.
  struct Phase {
    std::int64_t end = 0;
    std::unique_ptr<RecordedStep> step;
    std::unique_ptr<RecordedStep> resting_step;  ///< null where no kernel rests
    std::vector<QueuedExchange*> exchanges;
    std::vector<QueuedExchange*> awaiting;  ///< the exchanges that wait for other members
  };

  void add_nodes(std::span<Lane* const> all_lanes);
  enum class Rest : std::uint8_t { None, All };  ///< whether the kernels that may skip a step do

  Phase record_phase(std::int64_t begin) const;
  std::unique_ptr<RecordedStep> record_step(std::int64_t begin, Rest rest, Phase& phase) const;
  void put(const Turn& turn, const StepContext& context, StepRecorder& recorder,
           Phase& phase) const;
  bool all_rest(const StepContext& context) const;
  static void meet(const Turn& turn, std::span<QueuedExchange* const> exchanges,
                   StepRecorder& recorder);
  std::int64_t until_of(NodeId id) const;
  Kernel& kernel(const Stand& stand) const;
  const QueuedNode& node_at(const Stand& stand) const { return nodes_[stand.lane][stand.index]; }
  bool is_awaited(const Stand& stand) const;
  Phase& phase_at(std::int64_t examples);
  void await(const Phase& phase, const Patience& patience) const;
  void give_up() noexcept;

  Request request_;
  std::vector<std::vector<QueuedNode>> nodes_;  ///< `nodes_[i]` are those of lane i
  std::vector<Turn> turns_;
  std::vector<const Occasional*> resting_;
  std::vector<Phase> phases_;
};

/// Records one step of each loop and sets it in the loop's lanes. Throws: like record().
std::vector<std::unique_ptr<CapturedLoop>> capture_loops(
    const Graph& graph, std::span<const std::unique_ptr<Lane>> lanes, Device& device);

}  // namespace regatta
