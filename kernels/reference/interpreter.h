// SPDX-License-Identifier: Apache-2.0
//
// Runs a graph node by node with the reference kernels, in any order that the caller chooses: tests
// replay interleavings of asynchronous loops and get the same bits every time. Every value has its
// own memory, except views (read of a variable that is not shared, reshape, slice), which alias.
// Input nodes do nothing: the caller sets their values. Collectives are not supported.
// Threads: used from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta::reference {

/// Initial values by variable name; if several variables have the name (one per replica), all start
/// with these values.
using InitialValues = std::map<std::string, std::vector<float>>;

class Interpreter {
 public:
  /// Variables whose names are not in `initial` start with the values of initialize(). `graph` must
  /// outlive this object. Throws: RunError(Unsupported) if the reference lacks one of the ops.
  Interpreter(const Graph& graph, std::uint64_t seed, const InitialValues& initial = {});

  /// Runs one node, even if its inputs are not computed yet.
  void run_node(NodeId id, const StepContext& context);
  /// Runs one step of the whole graph: one step of each loop.
  void run_all(const StepContext& context);

  void set(Value value, std::span<const float> elements);
  void set(Value value, std::span<const std::int32_t> elements);

  const Tensor& tensor(Value value) const;
  VariableStorage& storage(VariableId id) { return *variables_.at(static_cast<std::size_t>(id)); }
  float* value(Value value) const { return tensor(value).f32(); }
  float* variable(VariableId id) { return storage(id).tensor.f32(); }
  /// Returns the staleness counters of all loops together; steps whose context has counters of its
  /// own are not counted here.
  const LaneCounters& counters() const { return counters_; }

 private:
  void add_variable(VariableId id, std::uint64_t seed, const InitialValues& initial);
  void add_values(NodeId id);
  void add_kernel(const KernelTable& table, NodeId id, int loop);
  void* allocate(const TensorType& type);
  void write(Value value, ElementType element, const void* elements, std::size_t count);

  const Graph& graph_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::deque<VersionCounts> counts_;
  std::vector<std::unique_ptr<VariableStorage>> variables_;
  std::vector<std::vector<Tensor>> values_;       // by node and output
  std::vector<VariableId> viewed_;                // by node; -1: no variable
  std::vector<std::unique_ptr<Kernel>> kernels_;  // by node; null: nothing to run
  std::map<std::pair<int, VariableId>, SeenVersion> versions_seen_;  // by loop
  LaneCounters counters_;
};

}  // namespace regatta::reference
