// SPDX-License-Identifier: Apache-2.0
//
// Interface of a device: its memory, and the queues that its lanes put work into. When run()
// returns, a CPU kernel has computed, but a GPU kernel has only enqueued its work; the lane
// finishes the queue before the host or another lane reads the results. The host accesses the
// memory of a device with queues through read() and write() only.
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
  int device = 0;   ///< CUDA's index of the GPU in this process
  std::string gpu;  ///< the GPU's address on its host's PCI bus; no blanks
};

/// Host memory for asynchronous copies to and from a device's queues.
using HostBuffer = std::unique_ptr<std::byte, void (*)(void*)>;

/// A timestamp in a queue, like a CUDA event: records when the queue reaches it.
class QueueMark {
 public:
  QueueMark() = default;
  QueueMark(const QueueMark&) = delete;
  QueueMark& operator=(const QueueMark&) = delete;
  virtual ~QueueMark() = default;
  /// Moves the mark to the end of the work that its queue holds now.
  /// Threads: called only from the lane's thread.
  virtual void put() = 0;
  /// Returns the time from `earlier` to this mark by the device's clock. Both marks must be on one
  /// device, and their queues finished. Units: ns.
  virtual double ns_since(const QueueMark& earlier) const = 0;
};

/// The queue that the kernels of one lane put their work into.
/// Threads: used only from the lane's thread.
class LaneQueue {
 public:
  LaneQueue() = default;
  LaneQueue(const LaneQueue&) = delete;
  LaneQueue& operator=(const LaneQueue&) = delete;
  virtual ~LaneQueue() = default;
  /// Sets the values of `context` that kernels on the device read. Called before the step's first
  /// kernel, while the queue is empty. A recorded step needs only this call before its launch.
  virtual void set_step(const StepContext& context) = 0;
  /// Enqueues a copy of set_step()'s values to the device, as the first work of each step.
  virtual void load_step() {}
  void begin_step(const StepContext& context) {
    set_step(context);
    load_step();
  }
  /// Allocates host memory for `numbers` floats, the targets of fetch(). The queue owns it and
  /// frees it only when its work has ended. Called once.
  float* make_room(std::int64_t numbers);
  /// Enqueues a copy of one number from the device to `to`, which lies in make_room()'s memory.
  virtual void fetch(float* to, const float* value) { copy(to, value, sizeof *to); }
  /// Allocates a host buffer for copy(). Called before the run is timed. Throws: RunError when
  /// memory is short.
  virtual HostBuffer make_host_buffer(std::int64_t bytes);
  /// Enqueues a copy between the device's memory and a host buffer.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Returns when all enqueued work is done. Throws: RunError(Device) for errors that the device
  /// reports.
  virtual void finish() = 0;
  /// Like finish(), but calls `look` repeatedly during the wait; an exception from `look` ends the
  /// wait.
  virtual void finish_while(const std::function<void()>& /*look*/) { finish(); }
  /// Makes a mark for this queue. Called before the run is timed; recorded steps cannot contain
  /// marks. The default implementation makes a mark whose put() finishes the queue and reads the
  /// host's clock.
  virtual std::unique_ptr<QueueMark> make_mark();
  /// Returns the device memory that the queue and its kernels hold in addition to the planned block
  /// (memory.h). Units: bytes.
  virtual std::int64_t held_bytes() const { return 0; }
  /// Returns the CUDA stream behind the queue; empty if there is none.
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

/// Memory and queues of one device. Must outlive the queues and the memory that it makes.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;
  /// Allocates zeroed memory, aligned to 64 bytes.
  /// Throws: RunError that names a remedy when memory is short.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// read() copies the device's memory to the host, write() the host's to the device; both return
  /// when the copy is done. Called while no queue holds work on that memory. Threads: any. Throws:
  /// RunError(Device).
  virtual void read(void* host, const void* memory, std::int64_t bytes);
  virtual void write(void* memory, const void* host, std::int64_t bytes);
  /// Whether copy() can read the memory of `other`: true if `other` is another Device for the same
  /// GPU.
  virtual bool copies_from(const Device& /*other*/) const { return false; }
  /// Copies within the GPU, to this device's memory. The same rules apply as for read().
  virtual void copy(std::span<const MemoryCopy> /*copies*/) {}
  /// Allocates host memory that read(), write() and queues copy fast, such as pinned memory.
  virtual HostBuffer make_host_buffer(std::int64_t bytes);
  /// Whether make_queue() makes queues. If true, counts and locks of shared variables are in the
  /// device's memory; if false, the device's memory is host memory.
  virtual bool has_queues() const { return false; }
  /// Makes this the calling thread's current device, so that kernels which the thread builds
  /// allocate here.
  virtual void make_current() {}
  /// Makes a queue; returns null if the device's kernels compute in run() itself.
  virtual std::unique_ptr<LaneQueue> make_queue() = 0;
  /// Makes a recorder for this device's queues; returns null if steps cannot be recorded.
  virtual std::unique_ptr<StepRecorder> make_recorder() { return nullptr; }
  /// Returns the GPU's PCI address, as in StreamPlace::gpu; empty for the CPU.
  virtual std::string gpu() const { return {}; }
};

/// Returns the device of the CPU's kernels: host memory, no queues. Threads: any.
Device& cpu_device();

}  // namespace regatta
