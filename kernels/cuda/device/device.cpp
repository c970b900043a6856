// SPDX-License-Identifier: Apache-2.0
//
// A GPU as a Device (kernels/runtime/device.h): memory of its own, which the host reaches through
// copies only, and streams as queues.
#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_call.h"
#include "kernels/cuda/device/load_kernels.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/device/room.h"
#include "kernels/cuda/device/stream_recorder.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta {
namespace cuda {
namespace {

class Gpu final : public Device {
 public:
  explicit Gpu(int device) : device_(device) {
    const GpuFindings found = find_gpus();
    if (!found.missing.empty()) throw RunError(ErrorKind::Device, found.missing);
    check(device < static_cast<int>(found.gpus.size()), "a GPU is asked for that the driver shows");
    make_current();
    load_kernels();
  }

  void* allocate(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    make_current();
    check_room(size);
    void* memory = nullptr;
    cuda_call(cudaMalloc(&memory, size), "cudaMalloc");
    cudaError_t status = cudaMemset(memory, 0, size);
    if (status == cudaSuccess) status = cudaStreamSynchronize(nullptr);
    if (status != cudaSuccess) cudaFree(memory);
    cuda_call(status, "zeroing of a GPU's memory");
    return memory;
  }
  void release(void* memory) noexcept override { free_on_gpu(memory); }
  void read(void* host, const void* memory, std::int64_t bytes) override {
    transfer(host, memory, bytes);
  }
  void write(void* memory, const void* host, std::int64_t bytes) override {
    transfer(memory, host, bytes);
  }
  bool copies_from(const Device& other) const override {
    const auto* const gpu = dynamic_cast<const Gpu*>(&other);
    return gpu != nullptr && gpu->device_ == device_;
  }
  void copy(std::span<const MemoryCopy> copies) override {
    make_current();
    for (const auto& [to, from, bytes] : copies) {
      cuda_call(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                                nullptr),
                "cudaMemcpyAsync");
    }
    cuda_call(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  HostBuffer make_host_buffer(std::int64_t bytes) override { return make_pinned(device_, bytes); }
  bool has_queues() const override { return true; }
  void make_current() override { cuda_call(cudaSetDevice(device_), "cudaSetDevice"); }
  std::unique_ptr<LaneQueue> make_queue() override { return cuda::make_queue(*this, device_); }
  std::unique_ptr<StepRecorder> make_recorder() override { return make_stream_recorder(device_); }
  std::string gpu() const override { return bus_address(device_); }

 private:
  /// Returns when the copy is done. For pageable memory cudaMemcpy may return before, so this also
  /// waits for the stream.
  void transfer(void* to, const void* from, std::int64_t bytes) {
    make_current();
    cuda_call(cudaMemcpy(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault),
              "cudaMemcpy");
    cuda_call(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  int device_;
};

class PinnedHost final : public Device {
 public:
  void* allocate(std::int64_t bytes) override {
    HostBuffer buffer = make_pinned(0, bytes);
    std::memset(buffer.get(), 0, static_cast<std::size_t>(bytes));
    return buffer.release();
  }
  void release(void* memory) noexcept override {
    if (!is_gpu_abandoned()) cudaFreeHost(memory);
  }
  std::unique_ptr<LaneQueue> make_queue() override { return nullptr; }
};

}  // namespace

}  // namespace cuda

std::unique_ptr<Device> make_cuda_device(int device) { return std::make_unique<cuda::Gpu>(device); }

std::unique_ptr<Device> make_pinned_host() { return std::make_unique<cuda::PinnedHost>(); }

}  // namespace regatta
