// SPDX-License-Identifier: Apache-2.0
//
// Reports of an executor: each worker's time by category, and each loop's history. Not called while
// lanes run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/merging.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/measure/span_histogram.h"

namespace regatta {

class Lane;
class Plan;
class StepRules;
struct MemoryUse;

/// A worker's time by category, summed over its steps. A worker is a place (kernels/graph/node.h)
/// that computes.
struct WorkerReport {
  Place place;
  std::int64_t steps = 0;
  std::int64_t compute_ns = 0;
  std::int64_t delay_ns = 0;  ///< a straggler's delays, a part of compute_ns
  std::int64_t exposed_communication_ns = 0;
  std::int64_t wait_ns = 0;    ///< waits for others to arrive, to make a value or to end a step
  std::int64_t bubble_ns = 0;  ///< waits for other stages of the replica, a part of wait_ns
  std::int64_t input_ns = 0;
  std::int64_t update_ns = 0;
  std::int64_t total_ns = 0;             ///< time inside steps
  std::vector<std::uint64_t> staleness;  ///< entry k: updates whose gradient was k versions old
  SpanHistogram age;                     ///< time from reading parameters to applying a gradient
  std::int64_t updates_applied = 0;      ///< pushes that counted, at a server with a quorum
  std::int64_t updates_dropped = 0;      ///< pushes that came too late, at the deciding server
  std::uint64_t data_order = 0;          ///< digest of the consumed examples (data_order.h)
  std::int64_t planned_bytes = 0;        ///< bytes for the place's variables and values
  std::int64_t parameter_bytes = 0;      ///< a part of planned_bytes, as are the next three
  std::int64_t slot_bytes = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t gradient_bytes = 0;
  std::int64_t process_peak_bytes = 0;  ///< peak memory of its process, all workers together
};

template <FieldsOf<WorkerReport> T, typename Field>
void for_each_field(T& worker, Field&& field) {
  field("place", worker.place, Merging<KeepOwn>());
  field("steps", worker.steps, Merging<AddUp>());
  field("compute_ns", worker.compute_ns, Merging<AddUp>());
  field("delay_ns", worker.delay_ns, Merging<AddUp>());
  field("exposed_communication_ns", worker.exposed_communication_ns, Merging<AddUp>());
  field("wait_ns", worker.wait_ns, Merging<AddUp>());
  field("bubble_ns", worker.bubble_ns, Merging<AddUp>());
  field("input_ns", worker.input_ns, Merging<AddUp>());
  field("update_ns", worker.update_ns, Merging<AddUp>());
  field("total_ns", worker.total_ns, Merging<AddUp>());
  field("staleness", worker.staleness, Merging<AddUp>());
  field("age", worker.age, Merging<AddUp>());
  field("updates_applied", worker.updates_applied, Merging<AddUp>());
  field("updates_dropped", worker.updates_dropped, Merging<AddUp>());
  field("data_order", worker.data_order, Merging<AddUp>());
  field("planned_bytes", worker.planned_bytes, Merging<KeepOwn>());
  field("parameter_bytes", worker.parameter_bytes, Merging<KeepOwn>());
  field("slot_bytes", worker.slot_bytes, Merging<KeepOwn>());
  field("activation_bytes", worker.activation_bytes, Merging<KeepOwn>());
  field("gradient_bytes", worker.gradient_bytes, Merging<KeepOwn>());
  field("process_peak_bytes", worker.process_peak_bytes, Merging<KeepOwn>());
}

/// One loop's history. Entry k of each vector is step k of this executor.
struct LoopReport {
  std::int64_t steps = 0;
  double share_of_batch = 1;  ///< examples of one step / global batch
  std::vector<std::uint64_t> step_ticks;
  std::vector<float> losses;           ///< the loop's share of the loss
  std::vector<std::int64_t> examples;  ///< seen by all loops together when the step began
};

/// The inputs of the reports.
struct RunState {
  const Step& step;
  const Plan& plan;
  const StepRules& rules;
  std::span<const std::unique_ptr<Lane>> lanes;
  std::span<const std::vector<float>> losses;  ///< losses[i][k] is loss i of the graph in step k
};

/// Sets the planned memory of the worker's place.
void set_memory(const std::map<Place, MemoryUse>& planned, WorkerReport& worker);
/// Returns one report per worker, ordered by place.
std::vector<WorkerReport> worker_reports(const RunState& run);
/// Returns one report per loop in this process's part of the graph.
std::vector<LoopReport> loop_reports(const RunState& run);

}  // namespace regatta
