// SPDX-License-Identifier: Apache-2.0
//
// Factories of the ops that NVIDIA's libraries compute where they are installed: dense by cuBLASLt,
// convolution by cuDNN. Where a library is not there, and on the emulated queue, our own kernels do
// (dense_paths.h, convolution_paths.h); which did is choice() of the kernel. Formulas and shapes
// stand in kernels/graph/ops. A factory returns null for element types that it does not compute.
#pragma once

#include <memory>
#include <string>

#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

using KernelPointer = std::unique_ptr<Kernel>;

/// A kernel for which something was chosen before the clock started.
class ChosenKernel : public Kernel {
 public:
  /// One line for records: the library and its algorithm or engine, or our own kernel and why.
  virtual std::string choice() const = 0;
};

/// What was chosen for a kernel; empty where there was no choice.
inline std::string choice_of(const Kernel& kernel) {
  const auto* chosen = dynamic_cast<const ChosenKernel*>(&kernel);
  return chosen == nullptr ? std::string() : chosen->choice();
}

// dense.cpp
KernelPointer dense(const KernelRequest&);
KernelPointer dense_backward_data(const KernelRequest&);
KernelPointer dense_backward_weights(const KernelRequest&);

// convolution.cpp
KernelPointer convolution(const KernelRequest&);
KernelPointer convolution_backward_data(const KernelRequest&);
KernelPointer convolution_backward_weights(const KernelRequest&);

}  // namespace regatta::cuda
