// SPDX-License-Identifier: Apache-2.0
//
// For tests: an observer of kernels while they run.
#pragma once

#include "kernels/runtime/kernel.h"

namespace regatta::testing_support {

class KernelWatch {
 public:
  KernelWatch() = default;
  KernelWatch(const KernelWatch&) = delete;
  KernelWatch& operator=(const KernelWatch&) = delete;
  virtual ~KernelWatch() = default;
  /// Watches all kernels built from the table from now on. The watch outlives them.
  virtual void attach(KernelTable& table) = 0;
};

}  // namespace regatta::testing_support
