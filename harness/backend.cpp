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

void add_mpi(Backend& backend, MpiSession& session) {
  backend.mpi = std::make_unique<MpiTransport>(session);
  backend.mpi->add_kernels(backend.kernels);
}

std::map<Place, MemberTraffic> Backend::traffic() const {
  std::map<Place, MemberTraffic> all = transport.traffic();
  if (mpi == nullptr) return all;
  for (const auto& [place, counted] : mpi->traffic()) {
    all[place].sent += counted.sent;
    all[place].received += counted.received;
    all[place].messages += counted.messages;
  }
  return all;
}

}  // namespace regatta
