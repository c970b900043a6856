// SPDX-License-Identifier: Apache-2.0
//
// A kernel computes one node of the graph. It is built once, with every pointer that it will ever
// use, before the run is timed; run() then only computes, without allocations or look-ups. A
// KernelTable maps each op to the kernel factory of one device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/data/data_order.h"
#include "kernels/graph/node.h"
#include "kernels/graph/variable.h"
#include "kernels/runtime/measure/span_histogram.h"
#include "kernels/runtime/measure/wait_clock.h"

namespace regatta {

/// A type and a non-owning pointer to the elements. The memory is aligned to 64 bytes, except for
/// gradients inside an all_reduce bucket, which is contiguous: they are aligned to their element's
/// size.
struct Tensor {
  TensorType type;
  void* data = nullptr;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
  float* f32() const { return as<float>(); }
  std::int64_t elements() const { return type.elements(); }
};

/// Elements in a shard. Variables with Sharing::Locked or Sharing::Quorum have one lock per shard:
/// a read or an update is atomic within a shard, but another access may come between two shards.
inline constexpr std::int64_t kShardElements = 16384;

struct DataSet;
class LaneQueue;
class Occasional;
class QueuedExchange;
struct QueuedCounts;
class StepRule;

/// Counters of a shared variable. Kernels increment them in the memory of the variable's device.
struct alignas(64) VersionCounts {
  std::uint64_t version = 0;  ///< finished updates
  /// Incremented by every update, but with races, like the elements of a relaxed variable. The
  /// number of lost updates is estimated as version - canary.
  std::uint64_t canary = 0;
  std::uint64_t averages = 0;  ///< finished averages with other replicas
};

/// A variable as its kernels see it. All pointers refer to the memory of the variable's device.
struct VariableStorage {
  Tensor tensor;
  Sharing sharing = Sharing::None;
  VersionCounts* counts = nullptr;  ///< null where loops do not share it
  std::vector<std::mutex> shards;   ///< only Locked and Quorum: one for each kShardElements
  /// The locks in place of `shards` on a device with queues, one word per shard; 0: free.
  std::uint32_t* shard_words = nullptr;

  VariableStorage() = default;
};

/// The version of a shared variable that a loop is about to read, and the time of the read. Both
/// are noted just before the read.
struct SeenVersion {
  std::uint64_t number = 0;  ///< finished updates and averages
  std::uint64_t ticks = 0;   ///< for kernels in queues: nanoseconds by the device's clock
};

/// Size of a staleness histogram. Entry k counts the updates whose gradient was computed from
/// parameters k versions old; the last entry also counts all older ones.
inline constexpr std::size_t kStalenessCounts = 64;

/// Counters that a lane's kernels update. Threads: used only from the lane's thread.
struct LaneCounters {
  WaitClock peer_waits;  ///< time that communication kernels spent waiting for other members
  std::vector<std::uint64_t> staleness = std::vector<std::uint64_t>(kStalenessCounts);
  SpanHistogram age;             ///< from reading parameters to applying their gradient
  std::uint64_t data_order = 0;  ///< digest of the consumed examples (data_order.h)

  /// Counts a consumed batch; `digest` is the sum of its examples' digests.
  void count_input(std::int64_t step, std::uint64_t digest) {
    data_order += order_weight(step) * digest;
  }
  /// Counts an update whose gradient was computed from the parameter read at `seen`. `previous` is
  /// the variable's version just before this update.
  void count_update(const SeenVersion& seen, std::uint64_t previous);
};

/// A flag that is raised to end a run early; every wait checks it.
struct AbortFlag {
  std::atomic<bool> raised{false};
};

/// The step in which a kernel runs.
struct StepContext {
  std::int64_t step = 0;             ///< index in this loop, from 0
  std::int64_t examples = 0;         ///< seen by all loops together when this step began
  std::int64_t examples_before = 0;  ///< `examples` of the loop's previous step; 0 in its first
  std::int64_t batch = 0;            ///< examples in the step's batch; 0: the global batch
  LaneCounters* counters = nullptr;
};

/// Inputs of a kernel factory. All referenced objects must outlive the kernel.
struct KernelRequest {
  NodeId id = -1;  ///< the node's id in its graph; -1: the node is not part of a graph
  Node node;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  std::span<VariableStorage* const> variables;
  /// `versions_seen[i]` is where the loop notes the version of variables[i] that it reads; null if
  /// no node reads that variable.
  std::span<SeenVersion* const> versions_seen;
  int threads = 1;                ///< OpenMP threads that the lane may use
  const DataSet* data = nullptr;  ///< the data set of an input node
  std::uint64_t seed = 0;
  const AbortFlag* abort = nullptr;
  int spins = 0;               ///< Patience::spins of the kernel's waits (counter.h)
  int yields = 0;              ///< Patience::yields of the kernel's waits
  StepRule* rule = nullptr;    ///< the rule of the node's loop (loops/); null: none
  LaneQueue* queue = nullptr;  ///< the queue that run() puts work into; null: run() computes itself
  /// The queue that performs a copy from another device's memory. It is the lane's own queue or, if
  /// the lane has none or cannot read that memory, a queue of the other device, which copies to
  /// host memory; run() then waits for that queue. Null: the kernel reads the memory itself.
  LaneQueue* carrier = nullptr;
  QueuedCounts* counts = nullptr;  ///< replaces LaneCounters on a lane with a queue
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  /// Computes the node, or enqueues its work. Threads: called only by the kernel's lane.
  virtual void run(const StepContext& context) = 0;
  /// Returns this kernel as a QueuedExchange if it communicates in a queue, without the host; null
  /// if the host takes part or the kernel only computes.
  virtual QueuedExchange* queued_exchange() { return nullptr; }
  /// Returns this kernel as an Occasional if it skips steps; null if it works in every step.
  virtual Occasional* occasional() { return nullptr; }
  /// Whether one launch can do the work of this kernel and of `other`, given that neither depends
  /// on the other (merge.h).
  virtual bool merges_with(const Kernel& /*other*/) const { return false; }
  /// Makes run() also do the work of `others`, with which this kernel merges; their own run() then
  /// does nothing. Called before the first run().
  virtual void take_over(std::span<Kernel* const> /*others*/) {}
};

using KernelPointer = std::unique_ptr<Kernel>;
using KernelFactory = std::function<KernelPointer(const KernelRequest&)>;

/// One row of a backend's table: an op and the factory for its kernels. A factory copies whatever
/// it needs from the request. It returns null for unsupported element types; the table then reports
/// the error.
struct KernelRow {
  Op op;
  KernelPointer (*factory)(const KernelRequest&);
};
using KernelRows = std::vector<KernelRow>;

/// Makes a kernel from a function object with `void operator()(const StepContext&)`.
template <typename Function>
std::unique_ptr<Kernel> make_kernel(Function function) {
  class FunctionKernel final : public Kernel {
   public:
    explicit FunctionKernel(Function body) : body_(std::move(body)) {}
    void run(const StepContext& context) override { body_(context); }

   private:
    Function body_;
  };
  return std::make_unique<FunctionKernel>(std::move(function));
}

/// Maps ops to kernel factories, for one device.
class KernelTable {
 public:
  explicit KernelTable(std::string device) : device_(std::move(device)) {}
  void add(Op op, KernelFactory factory) { factories_[op] = std::move(factory); }
  void add(const KernelRows& rows) {
    for (const KernelRow& row : rows) add(row.op, row.factory);
  }
  bool has(Op op) const { return factories_.contains(op); }
  /// Returns the factory added for the op, so that a new factory can replace it for some nodes and
  /// call it for the others; empty if there is none.
  KernelFactory factory(Op op) const {
    const auto found = factories_.find(op);
    return found == factories_.end() ? KernelFactory() : found->second;
  }
  /// Builds the kernel of the request's node. Throws: RunError(Unsupported) that names op, element
  /// type and device if the table has no factory for the op.
  std::unique_ptr<Kernel> build(const KernelRequest& request) const;

 private:
  std::string device_;
  std::map<Op, KernelFactory> factories_;
};

}  // namespace regatta
