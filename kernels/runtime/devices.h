// SPDX-License-Identifier: Apache-2.0
//
// Functions that the libraries kernels/cpu and kernels/cuda define. A program can use the devices
// whose library it links.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/runtime/device.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// Adds the CPU's kernels of all ops that compute. Defined in kernels/cpu.
void add_cpu_kernels(KernelTable& table);

/// Returns the instruction set that the CPU's kernels in use are compiled for, `x86-64-v3`, in a
/// build for any processor, which has several; otherwise empty. Defined in kernels/cpu.
std::string chosen_cpu_kernels();

/// Whether, on this processor and for `element`, a direct convolution is faster than Winograd's
/// algorithm for every shape. True for bf16 on processors with AMX, which multiplies bf16 many
/// times faster.
bool cpu_favours_direct_convolutions(ElementType element);

/// How a convolution on a GPU chooses one of cuDNN's engines.
enum class EngineRule : std::uint8_t {
  Heuristic,  ///< the first of cuDNN's proposals that runs: the same engine in every run
  Timed,      ///< the fastest in trials while the kernel is built; rounding may differ between runs
};

/// Adds GPU kernels of all ops that compute, which work in a GPU's queues. Defined in kernels/cuda.
void add_cuda_kernels(KernelTable& table, EngineRule engines = EngineRule::Heuristic);

/// Makes the device for GPU `device`, an index into the driver's list. Throws: RunError that names
/// the missing part (CUDA in this build, a recent driver or a GPU) and a remedy.
std::unique_ptr<Device> make_cuda_device(int device);

/// Makes a device without queues whose memory is pinned host memory: CPU kernels work in it, and
/// the queues of all GPUs copy to and from it. Its allocate() throws like make_cuda_device().
std::unique_ptr<Device> make_pinned_host();

}  // namespace regatta
