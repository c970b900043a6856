// SPDX-License-Identifier: Apache-2.0
#include "harness/run/backend.h"

#include "harness/plan/device_name.h"
#include "kernels/base/error.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::run {

void Backend::add(std::unique_ptr<comm::Transport> transport) {
  if (!gpus.empty()) transport->add_kernels(host_kernels);
  transport->add_kernels(kernels);
  transports.push_back(std::move(transport));
}

PlacedDevices Backend::devices() const {
  if (gpus.empty()) return {kernels};
  std::vector<DeviceKernels> all;
  for (const auto& gpu : gpus) all.push_back({.device = gpu.get(), .kernels = &kernels});
  all.push_back({.device = pinned_host == nullptr ? &cpu_device() : pinned_host.get(),
                 .kernels = &host_kernels});
  const auto count = static_cast<int>(gpus.size());
  return {all, [count, deal = deal](const Place& place) {
            return static_cast<std::size_t>(plan::gpu_of(place, deal).value_or(count));
          }};
}

std::unique_ptr<Backend> make_backend(const std::string& device, const GpuShare& share) {
  auto backend = std::make_unique<Backend>(device);
  auto in_process = std::make_unique<comm::InProcessTransport>();
  if (plan::is_gpu(device)) {
    const auto found = static_cast<int>(find_gpus().gpus.size());
    std::vector<int> gpus;
    for (int i = 0; i < share.deal.gpus; ++i) {
      gpus.push_back(plan::gpu_of(share.process_on_host + i, found));
    }
    backend->gpus = make_cuda_devices(gpus);
    backend->deal = share.deal;
    backend->pinned_host = make_pinned_host();
    add_cuda_kernels(backend->kernels, share.engines);
    add_cpu_kernels(backend->host_kernels);
  } else {
    check(device == plan::kCpu, "a device has a name that --device takes");
    add_cpu_kernels(backend->kernels);
  }
  backend->add(std::move(in_process));
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
