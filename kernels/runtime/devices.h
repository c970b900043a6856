// SPDX-License-Identifier: Apache-2.0
//
// Functions that each device's library defines: a program can use the devices that it links.
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
/// for every shape. True for bf16 with AMX, which multiplies bf16 many times as fast.
bool cpu_favours_direct_convolutions(ElementType element);

/// How a convolution on a GPU chooses one of cuDNN's engines.
enum class EngineRule : std::uint8_t {
  Heuristic,  ///< the first of the library's proposals that runs: the same in every run
  Timed,      ///< the fastest in trials while the kernel is built; rounding may differ between runs
};

/// kernels/cuda: the same ops, in the queues of a GPU.
void add_cuda_kernels(KernelTable& table, EngineRule engines = EngineRule::Heuristic);

/// GPU number `device` of those that the driver lists. Throws: RunError that names the missing part
/// and a remedy: no CUDA in this build, no driver or one that is too old, no GPU.
std::unique_ptr<Device> make_cuda_device(int device);

/// Several GPUs, in that order. Their queues read each other's memory directly where the hardware
/// can. Throws: like make_cuda_device().
std::vector<std::unique_ptr<Device>> make_cuda_devices(std::span<const int> devices);

/// Pinned host memory for the CPU's kernels, which queues of all GPUs copy to and from. It has no
/// queues. Throws: like make_cuda_device(), when memory is allocated.
std::unique_ptr<Device> make_pinned_host();

}  // namespace regatta
