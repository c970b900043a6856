// SPDX-License-Identifier: Apache-2.0
#include "harness/backend.h"

#include "kernels/graph/error.h"
#include "kernels/runtime/devices.h"

namespace regatta {

std::unique_ptr<Backend> make_backend(const std::string& device) {
  if (device != "cpu") {
    throw RunError(ErrorKind::Unsupported,
                   "this build has no kernels for device '" + device + "'; use --device cpu");
  }
  auto backend = std::make_unique<Backend>(device);
  add_cpu_kernels(backend->kernels);
  backend->transport.add_kernels(backend->kernels);
  return backend;
}

}  // namespace regatta
