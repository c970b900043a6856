// SPDX-License-Identifier: Apache-2.0
//
// One step of a loop, recorded from all of its lanes and launched as one. All work must be in
// queues: computation on a device with queues is, communication only if it is a QueuedExchange
// (copies, sums and shares by NCCL or between replicas on one GPU; not messages or sums of the
// host).
// If members of an exchange meet, one of them enqueues the work behind everything in all their
// queues, and the other queues continue after it. Kernels read values that change from step to step
// (LaneQueue::load_step), so one recording serves all steps until a node has had its last
// (kernels/graph/node_steps.h); then the next recording takes over. Kernels that rest in some steps
// all rest in the same ones; a second recording serves these.
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
    std::vector<Lane*> lanes;          ///< of the loop, the leader first
    std::span<Lane* const> all_lanes;  ///< indexed like Dependency::lane; not kept
    Device& device;
  };

  /// The lanes must already have their kernels.
  explicit CapturedLoop(const Request& request);
  ~CapturedLoop();

  /// Throws: RunError(Unsupported) for a node or a device that cannot be recorded, RunError(Device)
  /// for errors that the device reports; both name the op.
  void record();

  /// Runs one step to its end.
  /// Throws: RunError, Aborted; the step under way is then abandoned and run() must not be called
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
  enum class Rest : std::uint8_t { None, All };  ///< the kernels that rest, of those that may

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
  std::vector<std::vector<QueuedNode>> nodes_;  ///< by lane
  std::vector<Turn> turns_;
  std::vector<const Occasional*> resting_;
  std::vector<Phase> phases_;
};

/// Records one step for each loop and hands it to the loop's lanes.
/// Throws: like record().
std::vector<std::unique_ptr<CapturedLoop>> capture_loops(
    const Graph& graph, std::span<const std::unique_ptr<Lane>> lanes, Device& device);

}  // namespace regatta
