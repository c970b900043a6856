// SPDX-License-Identifier: Apache-2.0
//
// Kernels compute nodes. A kernel is built once, with every pointer it will ever use, before the
// clock starts; run() only computes: it allocates nothing and looks nothing up.
// A KernelTable, filled by explicit functions, maps each op to the code for it on a device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/graph/data_order.h"
#include "kernels/graph/data_set.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/measure/span_histogram.h"
#include "kernels/runtime/measure/wait_clock.h"

namespace regatta {

/// A type and a pointer to the elements, which it does not own. Memory is aligned to 64 bytes,
/// except gradients inside an all_reduce bucket, which are aligned to their element.
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

/// The size of a shard. Variables of Sharing::Locked and Quorum are locked shard by shard: a read
/// or an update is atomic within a shard, but another may come between two shards.
inline constexpr std::int64_t kShardElements = 16384;

class Absence;
class LaneQueue;
class Occasional;
class QueuedExchange;
class Quorum;
struct QueuedCounts;

/// Counts of a shared variable, beside it in the memory of its device, where kernels count.
struct alignas(64) VersionCounts {
  std::uint64_t version = 0;  ///< finished updates
  std::uint64_t canary = 0;  ///< incremented like a relaxed element; lost updates: version - canary
  std::uint64_t averages = 0;  ///< finished averages with other replicas
};

/// A variable as its kernels see it. The pointers are to memory of its device.
struct VariableStorage {
  Tensor tensor;
  Sharing sharing = Sharing::None;
  VersionCounts* counts = nullptr;  ///< null where loops do not share it
  std::vector<std::mutex> shards;   ///< Locked and Quorum: one for each kShardElements
  /// Replaces `shards` where kernels in queues lock (Device::has_queues()). 0: free.
  std::uint32_t* shard_words = nullptr;

  VariableStorage() = default;
};

/// Noted before a shared variable is read: the number of changes, and the time.
struct SeenVersion {
  std::uint64_t number = 0;  ///< finished updates and averages
  std::uint64_t ticks = 0;   ///< for kernels in queues: nanoseconds by the device's clock
};

/// Columns of a staleness count: updates that missed 0, 1, ... versions. The last column also
/// counts all that missed more.
inline constexpr std::size_t kStalenessCounts = 64;

/// Measurements of a lane, to which its kernels add. Threads: the lane.
struct LaneCounters {
  WaitClock peer_waits;  ///< inside communication: waiting for others
  std::vector<std::uint64_t> staleness = std::vector<std::uint64_t>(kStalenessCounts);
  SpanHistogram age;             ///< from reading parameters to applying their gradient
  std::uint64_t data_order = 0;  ///< digest of the consumed examples (data_order.h)

  /// Counts a consumed batch; `digest` is the sum of its examples'.
  void count_input(std::int64_t step, std::uint64_t digest) {
    data_order += order_weight(step) * digest;
  }
  /// Counts an update by a gradient whose parameter was read at `seen`; `previous`: versions before
  /// this update.
  void count_update(const SeenVersion& seen, std::uint64_t previous);
};

/// Raised to end a run early; every wait checks it.
struct AbortFlag {
  std::atomic<bool> raised{false};
};

/// One execution of a node.
struct StepContext {
  std::int64_t step = 0;             ///< index in this loop, from 0
  std::int64_t examples = 0;         ///< seen by all loops together when this step began
  std::int64_t examples_before = 0;  ///< the same for the loop's previous step; 0 in its first
  std::int64_t step_examples = 0;    ///< applied by an update behind a quorum; 0: a batch
  LaneCounters* counters = nullptr;
};

/// Inputs of a kernel factory. Referenced objects outlive the kernel.
struct KernelRequest {
  NodeId id = -1;  ///< of the node in its graph; -1: it has none
  Node node;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  std::span<VariableStorage* const> variables;
  /// For each variable: the version noted by its reader; null where no node reads it.
  std::span<SeenVersion* const> versions_seen;
  int threads = 1;                ///< OpenMP threads that the lane may use
  const DataSet* data = nullptr;  ///< for input nodes
  std::uint64_t seed = 0;
  const AbortFlag* abort = nullptr;
  int spins = 0;               ///< polls before a wait sleeps (counter.h)
  int yields = 0;              ///< polls with a yield before it sleeps
  Quorum* quorum = nullptr;    ///< of the node's server; null where there is none
  Absence* absence = nullptr;  ///< of the loop's worker; null where its loss is an error
  LaneQueue* queue = nullptr;  ///< where run() puts its work; null: run() computes itself
  /// For a copy from another device's memory: the queue that copies. It is the lane's own or, if
  /// the lane has none or cannot read that memory, a queue of the other device that copies to host
  /// memory and that run() finishes. Null: the kernel reads the memory itself.
  LaneQueue* carrier = nullptr;
  QueuedCounts* counts = nullptr;  ///< for a lane with a queue: replaces its LaneCounters
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  /// Threads: called by one lane at a time, always the same.
  virtual void run(const StepContext& context) = 0;
  /// The kernel's communication without the host; null where the host takes part or the kernel only
  /// computes.
  virtual QueuedExchange* queued_exchange() { return nullptr; }
  /// The kernel if it skips steps; null if it works in every step.
  virtual Occasional* occasional() { return nullptr; }
  /// Whether one launch can do the work of both, if neither depends on the other (merge.h).
  virtual bool merges_with(const Kernel& /*other*/) const { return false; }
  /// Takes over the work of kernels that it merges with; their run() then does nothing. Called
  /// before the first run().
  virtual void take_over(std::span<Kernel* const> /*others*/) {}
};

using KernelFactory = std::function<std::unique_ptr<Kernel>(const KernelRequest&)>;

/// A kernel from a function object with `void operator()(const StepContext&)`.
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
  bool has(Op op) const { return factories_.contains(op); }
  /// The factory that was added for the op, for use by one that replaces it for some nodes; empty
  /// if there is none.
  KernelFactory factory(Op op) const {
    const auto found = factories_.find(op);
    return found == factories_.end() ? KernelFactory() : found->second;
  }
  /// Throws: RunError(Unsupported) naming op, element type and device when there is none.
  std::unique_ptr<Kernel> build(const KernelRequest& request) const;

 private:
  std::string device_;
  std::map<Op, KernelFactory> factories_;
};

}  // namespace regatta
