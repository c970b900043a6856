// SPDX-License-Identifier: Apache-2.0
//
// Memory of a run and queues of its lanes. A CPU kernel has computed when run() returns; a GPU
// kernel has only enqueued its work, and the lane finishes the queue before the host or another
// lane reads the results. The host accesses the memory of a device with queues through read() and
// write() only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "kernels/runtime/capture/step_recorder.h"
#include "kernels/runtime/kernel.h"

struct CUstream_st;

namespace regatta {

/// The CUDA stream behind a queue, for libraries that enqueue work of their own.
struct StreamPlace {
  CUstream_st* stream = nullptr;
  int device = 0;   ///< this process' number of the GPU
  std::string gpu;  ///< the GPU's address on its host's PCI bus; no blanks
};

/// Host memory that a device's queues copy to and from while the host does other work.
using HostBuffer = std::unique_ptr<std::byte, void (*)(void*)>;

/// A point in a queue's work, and the time when the queue reached it.
class QueueMark {
 public:
  QueueMark() = default;
  QueueMark(const QueueMark&) = delete;
  QueueMark& operator=(const QueueMark&) = delete;
  virtual ~QueueMark() = default;
  /// Moves the mark to the end of its queue.
  /// Threads: the lane.
  virtual void put() = 0;
  /// The time since `earlier` by the device's clock. Both marks are on one device and their queues
  /// are finished. Units: ns.
  virtual double ns_since(const QueueMark& earlier) const = 0;
};

/// The queue that the kernels of one lane put their work into.
/// Threads: the lane.
class LaneQueue {
 public:
  LaneQueue() = default;
  LaneQueue(const LaneQueue&) = delete;
  LaneQueue& operator=(const LaneQueue&) = delete;
  virtual ~LaneQueue() = default;
  /// Sets the step's values that kernels read. Called before the step's first kernel, while the
  /// queue is empty. A launch of a recorded step needs no other preparation.
  virtual void set_step(const StepContext& context) = 0;
  /// Enqueues a copy of set_step()'s values to the device, as the first work of each step.
  virtual void load_step() {}
  void begin_step(const StepContext& context) {
    set_step(context);
    load_step();
  }
  /// Allocates host memory for this many floats; it lives until the queue's work has ended. Called
  /// once.
  float* make_room(std::int64_t numbers);
  /// Enqueues a copy of one number to the memory of make_room().
  virtual void fetch(float* to, const float* value) { copy(to, value, sizeof *to); }
  /// A buffer for copy(). Called before the clock starts. Throws: RunError when memory is short.
  virtual HostBuffer make_host_buffer(std::int64_t bytes);
  /// Enqueues a copy between the device's memory and a host buffer.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Returns when all enqueued work is done. Throws: RunError(Device) for errors that the device
  /// reports.
  virtual void finish() = 0;
  /// Like finish(), but calls `look` repeatedly during the wait; an exception from `look` ends the
  /// wait.
  virtual void finish_while(const std::function<void()>& /*look*/) { finish(); }
  /// A mark for this queue. Called before the clock starts; not for recorded steps. The default
  /// mark finishes the queue in put() and reads the host's clock.
  virtual std::unique_ptr<QueueMark> make_mark();
  /// Device memory that the queue and its kernels hold outside the planned block. Units: bytes.
  virtual std::int64_t held_bytes() const { return 0; }
  /// Empty when the queue is not a GPU's stream.
  virtual std::optional<StreamPlace> stream_place() const { return std::nullopt; }

 private:
  std::optional<HostBuffer> room_;
};

/// A copy of bytes from one address in a device's memory to another.
struct MemoryCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::int64_t bytes = 0;
};

/// Memory and queues of one device. Outlives the objects it made.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;
  /// Zeroed memory, aligned to 64 bytes.
  /// Throws: RunError that names a remedy when memory is short.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Copies memory of the device to the host's, or back; returns when the copy is done. Called
  /// while no queue holds work on that memory. Threads: any. Throws: RunError(Device).
  virtual void read(void* host, const void* memory, std::int64_t bytes);
  virtual void write(void* memory, const void* host, std::int64_t bytes);
  /// Whether copy() can read the memory of `other`, which is another object for the same GPU.
  virtual bool copies_from(const Device& /*other*/) const { return false; }
  /// Copies to this device's memory without the host. Otherwise like read().
  virtual void copy(std::span<const MemoryCopy> /*copies*/) {}
  /// Host memory that read(), write() and queues can copy from and to fast.
  virtual HostBuffer make_host_buffer(std::int64_t bytes);
  /// Whether make_queue() makes queues. If not, the memory is the host's. If so, kernels count and
  /// lock in the device's memory.
  virtual bool has_queues() const { return false; }
  /// Makes this the device on which the calling thread allocates. Called before the thread builds
  /// kernels.
  virtual void make_current() {}
  /// Whether queues of `other` can read this device's memory directly.
  virtual bool is_read_by(const Device& /*other*/) const { return true; }
  /// A queue; null where kernels compute in run() itself.
  virtual std::unique_ptr<LaneQueue> make_queue() = 0;
  /// A recorder for this device's queues; null where steps cannot be recorded.
  virtual std::unique_ptr<StepRecorder> make_recorder() { return nullptr; }
  /// The GPU's address as in StreamPlace::gpu; empty for the CPU.
  virtual std::string gpu() const { return {}; }
};

/// Host memory and no queues. Threads: any.
Device& cpu_device();

}  // namespace regatta
