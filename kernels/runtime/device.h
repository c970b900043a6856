// SPDX-License-Identifier: Apache-2.0
//
// Where a run's memory is and how its lanes hand out work. A CPU's kernel has done its work when
// run() returns; a GPU's has only put it into its lane's queue, and the lane finishes the queue
// where the host or another lane looks.
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

/// A queue on a GPU as those see it who put work into it by a library of their own.
struct StreamPlace {
  CUstream_st* stream = nullptr;
  int device = 0;   ///< as this process numbers GPUs
  std::string gpu;  ///< names the GPU on its host, without blanks: its address on the PCI bus
};

/// Host memory that a device's queues copy from and to by themselves, while the host does other
/// things.
using HostBuffer = std::unique_ptr<std::byte, void (*)(void*)>;

/// A place in a queue's work, and when the queue came to it.
class QueueMark {
 public:
  QueueMark() = default;
  QueueMark(const QueueMark&) = delete;
  QueueMark& operator=(const QueueMark&) = delete;
  virtual ~QueueMark() = default;
  /// Puts it behind what is in its queue; where it was before is forgotten.
  /// Threads: the lane's.
  virtual void put() = 0;
  /// Of marks on one device whose queues are finished, as the device's clock says. Units: ns.
  virtual double ns_since(const QueueMark& earlier) const = 0;
};

/// Where the kernels of one lane put their work.
/// Threads: the lane's.
class LaneQueue {
 public:
  LaneQueue() = default;
  LaneQueue(const LaneQueue&) = delete;
  LaneQueue& operator=(const LaneQueue&) = delete;
  virtual ~LaneQueue() = default;
  /// Before the first kernel of a step: what kernels read of it. Nothing is in the queue then.
  virtual void begin_step(const StepContext& context) = 0;
  /// Has the queue copy one number to where the host may look at it without moving the device's
  /// memory; fetched() tells it once the queue is finished.
  virtual void fetch(const float* value) = 0;
  virtual float fetched() const = 0;
  /// For copy(); before the clock starts. Throws: RunError where there is not so much.
  virtual HostBuffer make_host_buffer(std::int64_t bytes);
  /// Puts a copy into the queue, between the device's memory and such a buffer.
  virtual void copy(void* to, const void* from, std::int64_t bytes) = 0;
  /// Returns when all that was put in is done. Throws: RunError(Device) of what the device reports.
  virtual void finish() = 0;
  /// Waits in the same way, and calls `look` again and again while it waits; what that throws ends
  /// the wait.
  virtual void finish_while(const std::function<void()>& /*look*/) { finish(); }
  /// Before the clock starts; not for steps that are recorded. Unless a queue has its own, by the
  /// host's clock when the queue is finished, which putting it does.
  virtual std::unique_ptr<QueueMark> make_mark();
  /// Nothing where the queue is not a GPU's stream.
  virtual std::optional<StreamPlace> stream_place() const { return std::nullopt; }
};

/// Memory and queues of one kind of device. Outlives what it made.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;
  /// Zeroed, aligned to 64 bytes; the host may look at it, too, while no queue holds work on it.
  /// Throws: RunError that says what to do when there is not so much.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// The host has looked at these, or written them, and will not soon again: what has travelled to
  /// it goes back in one piece, where kernels would otherwise fetch it page by page. While no queue
  /// holds work.
  virtual void take_back(std::span<const Tensor>) {}
  /// Whether kernels lock shards of variables by words of its memory (VariableStorage), in their
  /// queues, and not by the host's mutexes.
  virtual bool locks_by_words() const { return false; }
  /// Before the calling thread builds a kernel for it: what that sets aside is set aside there.
  virtual void make_current() {}
  /// Whether the other's queues read its memory directly, or only its own do.
  virtual bool is_read_by(const Device& /*other*/) const { return true; }
  /// Null where kernels do their work at once.
  virtual std::unique_ptr<LaneQueue> make_queue() = 0;
  /// Records what is put into its queues. Null where it cannot.
  virtual std::unique_ptr<StepRecorder> make_recorder() { return nullptr; }
  /// Names a GPU on its host, as StreamPlace does; empty for the CPU.
  virtual std::string gpu() const { return {}; }
};

/// Host memory and no queues. Threads: any.
Device& cpu_device();

}  // namespace regatta
