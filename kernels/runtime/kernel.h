// SPDX-License-Identifier: Apache-2.0
//
// What computes a node. A kernel is built once, with every pointer it will ever use, before the
// clock starts; run() only computes: it allocates nothing and looks nothing up.
// Which code computes which op on which device is a KernelTable, filled by explicit functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/graph/data_set.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/measure/span_histogram.h"
#include "kernels/runtime/measure/wait_clock.h"

namespace regatta {

/// A type and where its elements are. Does not own them. Memory is aligned to 64 bytes, but for
/// gradients inside a bucket of an all_reduce: to their element.
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

/// Variables of Sharing::Locked and Quorum are locked in blocks (shards) of this many elements: a
/// read or an update of a block is whole, one of several blocks may have another's between two.
inline constexpr std::int64_t kShardElements = 16384;

class Absence;
class LaneQueue;
class QueuedExchange;
class Quorum;
struct QueuedCounts;

/// The memory of a variable, and what asynchronous strategies measure on it. It is in the device's
/// memory itself: kernels in queues count versions there.
struct VariableStorage {
  Tensor tensor;
  Sharing sharing = Sharing::None;
  std::atomic<std::uint64_t> version{0};  ///< updates finished
  std::atomic<std::uint64_t> canary{
      0};                          ///< counted like a relaxed element: version - canary were lost
  std::vector<std::mutex> shards;  ///< Locked and Quorum: one for each kShardElements
  /// In their place where kernels in queues lock (Device::locks_by_words()): 0 is free.
  std::uint32_t* shard_words = nullptr;

  VariableStorage() = default;
};

/// What a reader of a shared variable notes before it copies: how many updates were finished, and
/// when that was.
struct SeenVersion {
  std::uint64_t number = 0;
  std::uint64_t ticks = 0;  ///< kernels in queues: nanoseconds of their device's clock
};

/// Updates that missed 0, 1, ... versions; the last: so many or more.
inline constexpr std::size_t kStalenessCounts = 64;

/// What a lane measures while it runs; a kernel adds to it. Only its own lane writes it.
struct LaneCounters {
  WaitClock peer_waits;  ///< inside communication: waiting for others to arrive
  std::vector<std::uint64_t> staleness = std::vector<std::uint64_t>(kStalenessCounts);
  SpanHistogram age;  ///< from reading parameters to applying their gradient

  /// A gradient's update is finished, and is the one after `previous` versions.
  void count_update(const SeenVersion& seen, std::uint64_t previous);
};

/// Set when a run has to end early; every wait looks at it.
struct AbortFlag {
  std::atomic<bool> raised{false};
};

/// One execution of a node.
struct StepContext {
  std::int64_t step = 0;             ///< of this loop, from 0
  std::int64_t examples = 0;         ///< seen by all loops together when this step began
  std::int64_t examples_before = 0;  ///< when the loop's step before began; 0 in its first
  std::int64_t step_examples = 0;    ///< of an update behind a quorum: that it applies; 0: a batch
  LaneCounters* counters = nullptr;
};

/// Everything a kernel may keep. References outlive the kernel.
struct KernelRequest {
  const Node& node;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  std::span<VariableStorage* const> variables;
  /// For each variable: where its reader left the version it saw (null where nothing reads it).
  std::span<SeenVersion* const> versions_seen;
  int threads = 1;                ///< that the lane may use (OpenMP)
  const DataSet* data = nullptr;  ///< what input nodes yield
  std::uint64_t seed = 0;
  const AbortFlag* abort = nullptr;
  int spins = 0;               ///< looks before a wait sleeps (counter.h)
  int yields = 0;              ///< times that it yields before it sleeps
  Quorum* quorum = nullptr;    ///< of the node's server; null where there is none
  Absence* absence = nullptr;  ///< of the loop's worker; null where its loss is an error
  LaneQueue* queue = nullptr;  ///< where run() puts its work; null: it does it at once
  /// Of a copy out of another device's memory: the lane's queue or, where that has none or cannot
  /// read there, one of the other device, which copies to the host's memory and which run()
  /// finishes. Null: the kernel itself reads the memory.
  LaneQueue* carrier = nullptr;
  QueuedCounts* counts = nullptr;  ///< of the lane with a queue, in place of its LaneCounters
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  /// Threads: called by one lane at a time, always the same.
  virtual void run(const StepContext& context) = 0;
  /// How it crosses places without the host; null where it does not, or only computes.
  virtual QueuedExchange* queued_exchange() { return nullptr; }
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

/// Op to factory, for one device.
class KernelTable {
 public:
  explicit KernelTable(std::string device) : device_(std::move(device)) {}
  void add(Op op, KernelFactory factory) { factories_[op] = std::move(factory); }
  bool has(Op op) const { return factories_.contains(op); }
  /// What was added for the op, for one that takes over some of its nodes; empty if nothing was.
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
