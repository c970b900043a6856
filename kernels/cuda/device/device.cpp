// SPDX-License-Identifier: Apache-2.0
//
// A GPU as a Device (kernels/runtime/device.h): managed memory that stays on the GPU until the host
// looks, and streams for queues.
#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/device/cuda_call.h"
#include "kernels/cuda/device/peer_access.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/device/room.h"
#include "kernels/cuda/device/stream_recorder.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta {
namespace cuda {
namespace {

class Gpu final : public Device {
 public:
  /// `readers`: other GPUs that reach its memory directly.
  explicit Gpu(int device, std::vector<int> readers = {})
      : device_(device), readers_(std::move(readers)) {
    const GpuFindings found = find_gpus();
    if (!found.missing.empty()) throw RunError(ErrorKind::Device, found.missing);
    check(device < static_cast<int>(found.gpus.size()), "a GPU is asked for that the driver shows");
    cuda_call(cudaSetDevice(device_), "cudaSetDevice");
    int concurrent = 0;
    cuda_call(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device_),
              "cudaDeviceGetAttribute");
    if (concurrent == 0) {
      throw RunError(ErrorKind::Device,
                     "the driver does not let host and GPU share managed memory "
                     "(concurrentManagedAccess is 0, as under WSL); fix: use a Linux driver");
    }
    location_ = {.type = cudaMemLocationTypeDevice, .id = device_};
  }

  void* allocate(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    cuda_call(cudaSetDevice(device_), "cudaSetDevice");
    check_room(size);
    void* memory = nullptr;
    cuda_call(cudaMallocManaged(&memory, size), "cudaMallocManaged");
    const cudaError_t status = settle(memory, size);
    if (status != cudaSuccess) cudaFree(memory);
    cuda_call(status, "zeroing of managed memory");
    return memory;
  }
  void release(void* memory) noexcept override { free_on_gpu(memory); }
  void take_back(std::span<const Tensor> tensors) override {
    cuda_call(cudaSetDevice(device_), "cudaSetDevice");
    for (const Tensor& tensor : tensors) {
      const auto bytes = static_cast<std::size_t>(tensor.type.bytes());
      cuda_call(cudaMemPrefetchAsync(tensor.data, bytes, location_, 0, nullptr),
                "cudaMemPrefetchAsync");
    }
    cuda_call(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }
  bool locks_by_words() const override { return true; }
  bool is_read_by(const Device& other) const override {
    const auto* const gpu = dynamic_cast<const Gpu*>(&other);
    return gpu == nullptr ||
           std::find(readers_.begin(), readers_.end(), gpu->device_) != readers_.end();
  }
  void make_current() override { cuda_call(cudaSetDevice(device_), "cudaSetDevice"); }
  std::unique_ptr<LaneQueue> make_queue() override { return cuda::make_queue(device_); }
  std::unique_ptr<StepRecorder> make_recorder() override { return make_stream_recorder(device_); }
  std::string gpu() const override { return bus_address(device_); }

 private:
  /// On the GPU from the start: zeroing there is the first touch. Readers map it where it is, else
  /// their copies would move its pages.
  cudaError_t settle(void* memory, std::size_t bytes) const {
    cudaError_t status = cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation, location_);
    for (const int reader : readers_) {
      if (status != cudaSuccess) break;
      status = cudaMemAdvise(memory, bytes, cudaMemAdviseSetAccessedBy,
                             {.type = cudaMemLocationTypeDevice, .id = reader});
    }
    if (status == cudaSuccess) status = cudaMemset(memory, 0, bytes);
    if (status == cudaSuccess) status = cudaDeviceSynchronize();
    return status;
  }

  int device_;
  std::vector<int> readers_;
  cudaMemLocation location_{};
};

class PinnedHost final : public Device {
 public:
  void* allocate(std::int64_t bytes) override {
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    void* memory = nullptr;
    const cudaError_t status = cudaHostAlloc(&memory, size, cudaHostAllocPortable);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // else the next launch would be blamed for it
      throw RunError(
          ErrorKind::Device,
          "the host has no " + std::to_string(size) +
              " bytes to pin for its GPUs; fix: use a smaller batch or fewer workers, or "
              "raise the limit that holds (a container's memory, ulimit -l)");
    }
    cuda_call(status, "cudaHostAlloc");
    std::memset(memory, 0, size);
    return memory;
  }
  void release(void* memory) noexcept override {
    if (!is_gpu_abandoned()) cudaFreeHost(memory);
  }
  std::unique_ptr<LaneQueue> make_queue() override { return nullptr; }
};

}  // namespace

}  // namespace cuda

std::unique_ptr<Device> make_cuda_device(int device) { return std::make_unique<cuda::Gpu>(device); }

std::vector<std::unique_ptr<Device>> make_cuda_devices(std::span<const int> devices) {
  if (const GpuFindings found = find_gpus(); !found.missing.empty()) {
    throw RunError(ErrorKind::Device, found.missing);
  }
  const std::map<int, std::vector<int>> readers = cuda::enable_peer_access(devices);
  std::vector<std::unique_ptr<Device>> gpus;
  for (const int device : devices) {
    gpus.push_back(std::make_unique<cuda::Gpu>(device, readers.at(device)));
  }
  return gpus;
}

std::unique_ptr<Device> make_pinned_host() { return std::make_unique<cuda::PinnedHost>(); }

}  // namespace regatta
