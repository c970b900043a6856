// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/queue.h"

#include <algorithm>
#include <string>
#include <thread>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_call.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::cuda {
namespace {

/// A mark by a CUDA event.
class StreamMark final : public QueueMark {
 public:
  explicit StreamMark(cudaStream_t stream) : stream_(stream) {
    cuda_call(cudaEventCreate(&event_), "cudaEventCreate");
  }
  ~StreamMark() override {
    if (!is_gpu_abandoned()) cudaEventDestroy(event_);
  }
  void put() override { cuda_call(cudaEventRecord(event_, stream_), "cudaEventRecord"); }
  double ns_since(const QueueMark& earlier) const override {
    float ms = 0;
    cuda_call(cudaEventElapsedTime(&ms, dynamic_cast<const StreamMark&>(earlier).event_, event_),
              "cudaEventElapsedTime");
    return static_cast<double>(ms) * 1e6;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t event_ = nullptr;
};

/// A stream. set_step() selects its GPU, because each thread has a current GPU of its own.
class StreamQueue final : public Queue {
 public:
  StreamQueue(Device& owner, int device)
      : owner_(owner),
        device_(device),
        pinned_(make_pinned(device, sizeof(StepValues))),
        values_(static_cast<StepValues*>(owner.allocate(sizeof(StepValues)))) {
    *pinned() = {};
    const cudaError_t status = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    if (status != cudaSuccess) owner_.release(values_);
    cuda_call(status, "cudaStreamCreateWithFlags");
  }
  ~StreamQueue() override {
    if (is_gpu_abandoned()) return;
    try {
      finish();  // an ended run's work may still read the values
    } catch (const RunError&) {
    }
    if (is_gpu_abandoned()) return;
    cudaStreamDestroy(stream_);
    owner_.release(values_);
  }

  void set_step(const StepContext& context) override {
    cuda_call(cudaSetDevice(device_), "cudaSetDevice");
    *pinned() = {.step = context.step,
                 .examples = context.examples,
                 .examples_before = context.examples_before};
  }
  void load_step() override { copy(values_, pinned(), sizeof(StepValues)); }
  HostBuffer make_host_buffer(std::int64_t bytes) override { return make_pinned(device_, bytes); }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    cuda_call(
        cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, stream_),
        "cudaMemcpyAsync");
  }
  /// Polls, like CUDA's own wait by default, but with a time limit, and yields the core to other
  /// lanes after a while.
  void finish() override { finish_while({}); }
  void finish_while(const std::function<void()>& look) override {
    const std::int64_t limit_ns = now_ns() + Patience().limit_ns;
    cudaError_t status = cudaStreamQuery(stream_);
    for (int looks = 1; status == cudaErrorNotReady && now_ns() < limit_ns; ++looks) {
      if (look) look();
      if (looks > kLooks) std::this_thread::yield();
      status = cudaStreamQuery(stream_);
    }
    if (status == cudaErrorNotReady) {
      abandon_gpu();
      throw RunError(ErrorKind::Timeout,
                     "the GPU has worked for " +
                         std::to_string(Patience().limit_ns / 1'000'000'000) +
                         " s on what is the work of moments; fix: look at nvidia-smi and dmesg");
    }
    cuda_call(status, "cudaStreamQuery");
  }
  std::unique_ptr<QueueMark> make_mark() override {
    cuda_call(cudaSetDevice(device_), "cudaSetDevice");
    return std::make_unique<StreamMark>(stream_);
  }
  Device& device() const override { return owner_; }
  bool emulated() const override { return false; }
  CUstream_st* stream() const override { return stream_; }
  std::optional<StreamPlace> stream_place() const override {
    return StreamPlace{.stream = stream_, .device = device_, .gpu = bus_address(device_)};
  }
  const StepValues* values() const override { return values_; }

 private:
  /// The step's values in host memory.
  StepValues* pinned() const { return reinterpret_cast<StepValues*>(pinned_.get()); }

  static constexpr int kLooks = 1000;

  Device& owner_;
  int device_;
  HostBuffer pinned_;
  StepValues* values_;  ///< in the GPU's memory
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Queue> make_queue(Device& device, int number) {
  return std::make_unique<StreamQueue>(device, number);
}

HostBuffer make_pinned(int device, std::int64_t bytes) {
  void* memory = nullptr;
  cuda_call(cudaSetDevice(device), "cudaSetDevice");
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  const cudaError_t status = cudaHostAlloc(&memory, size, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // otherwise the next launch would report it
    throw RunError(ErrorKind::Device,
                   "the host has no " + std::to_string(size) +
                       " bytes to pin for its GPUs; fix: use a smaller batch or fewer workers, or "
                       "raise the limit that holds (a container's memory, ulimit -l)");
  }
  cuda_call(status, "cudaHostAlloc");
  return {static_cast<std::byte*>(memory), [](void* pinned) {
            if (!is_gpu_abandoned()) cudaFreeHost(pinned);
          }};
}

void Queue::reserve_workspace(std::int64_t bytes) {
  if (bytes <= workspace_.bytes()) return;
  workspace_ = Scratch();  // frees the old one first: both may not fit
  workspace_ = Scratch(*this, bytes);
}

Queue& queue_of(const KernelRequest& request) {
  auto* queue = dynamic_cast<Queue*>(request.queue);
  check(queue != nullptr, "kernels for a GPU are built with a queue of a GPU");
  return *queue;
}

}  // namespace regatta::cuda
