// SPDX-License-Identifier: Apache-2.0
#include "harness/run/backend.h"

#include "harness/plan/device_name.h"
#include "harness/plan/gpu_rule.h"
#include "kernels/base/error.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::run {

void Backend::add(std::unique_ptr<comm::Transport> transport) {
  if (gpu != nullptr) transport->add_kernels(host_kernels);
  transport->add_kernels(kernels);
  transports.push_back(std::move(transport));
}

PlacedDevices Backend::devices() const {
  if (gpu == nullptr) return {kernels};
  Device& host = pinned_host == nullptr ? cpu_device() : *pinned_host;
  return {{{.device = gpu.get(), .kernels = &kernels}, {.device = &host, .kernels = &host_kernels}},
          [](const Place& place) { return std::size_t{place.role == Role::Host ? 1U : 0U}; }};
}

std::unique_ptr<Backend> make_backend(const std::string& device, int process_on_host) {
  auto backend = std::make_unique<Backend>(device);
  if (plan::is_gpu(device)) {
    const auto found = static_cast<int>(find_gpus().gpus.size());
    backend->gpu = make_cuda_device(plan::gpu_of(process_on_host, found));
    backend->pinned_host = make_pinned_host();
    add_cuda_kernels(backend->kernels, EngineRule::Timed);
    add_cpu_kernels(backend->host_kernels);
  } else {
    check(device == plan::kCpu, "a device has a name that --device takes");
    add_cpu_kernels(backend->kernels);
  }
  backend->add(std::make_unique<comm::InProcessTransport>());
  return backend;
}

TrafficByPlace Backend::traffic() const {
  TrafficByPlace all;
  for (const auto& transport : transports) regatta::add(all, transport->traffic());
  return all;
}

comm::ExchangeTimesByPlace Backend::exchange_times() const {
  comm::ExchangeTimesByPlace all;
  for (const auto& transport : transports) comm::add(all, transport->exchange_times());
  return all;
}

}  // namespace regatta::run
