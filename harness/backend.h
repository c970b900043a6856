// SPDX-License-Identifier: Apache-2.0
//
// The kernels of a device together with what crosses between its places. Backends are chosen by
// linking, not by #ifdef: this file's source is where they are listed.
#pragma once

#include <memory>
#include <string>

#include "kernels/comm/in_process.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

struct Backend {
  explicit Backend(const std::string& device) : kernels(device) {}
  KernelTable kernels;
  InProcessTransport transport;
};

/// Throws: RunError(Unsupported) for a device that this build does not have.
std::unique_ptr<Backend> make_backend(const std::string& device);

}  // namespace regatta
