// SPDX-License-Identifier: Apache-2.0
//
// One function a device, defined by that device's library: what is linked is what can be used.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// kernels/cpu: every op that computes.
void add_cpu_kernels(KernelTable& table);

/// Whether direct convolutions of `element` are faster on this processor than Winograd's algorithm
/// whatever their shape: of bf16 with AMX, whose products of it are many times as fast.
bool cpu_favours_direct_convolutions(ElementType element);

/// How a convolution on a GPU comes to one of cuDNN's engines.
enum class EngineRule : std::uint8_t {
  Heuristic,  ///< the first of the library's heuristics that runs: the same in every run
  Timed,      ///< the fastest of them, by trials when its kernel is built; runs may round apart
};

/// kernels/cuda: the same ops, in the queues of a GPU.
void add_cuda_kernels(KernelTable& table, EngineRule engines = EngineRule::Heuristic);

/// GPU number `device` of those that the driver shows. Throws: RunError that says what is missing
/// and what to do: no CUDA in this build, no driver or too old a one, no GPU.
std::unique_ptr<Device> make_cuda_device(int device);

/// Several, in that order, whose queues read each other's memory directly where the hardware can.
/// Throws: as make_cuda_device().
std::vector<std::unique_ptr<Device>> make_cuda_devices(std::span<const int> devices);

/// Host memory that queues of all GPUs copy to and from by themselves (pinned), for the CPU's
/// kernels: it has no queues. Throws: as make_cuda_device(), where memory is set aside.
std::unique_ptr<Device> make_pinned_host();

}  // namespace regatta
