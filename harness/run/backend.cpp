// SPDX-License-Identifier: Apache-2.0
#include "harness/run/backend.h"

#include "harness/plan/device_name.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta {

PlacedDevices Backend::devices() const {
  if (gpus.empty()) return {kernels};
  std::vector<DeviceKernels> all;
  for (const auto& gpu : gpus) all.push_back({.device = gpu.get(), .kernels = &kernels});
  all.push_back({.device = pinned_host == nullptr ? &cpu_device() : pinned_host.get(),
                 .kernels = &host_kernels});
  const auto count = static_cast<int>(gpus.size());
  const GpuDeal deal{.gpus = count, .stages = stages};
  return {all, [=](const Place& place) {
            return static_cast<std::size_t>(gpu_of(place, deal).value_or(count));
          }};
}

std::unique_ptr<Backend> make_backend(const std::string& device, const GpuShare& share) {
  auto backend = std::make_unique<Backend>(device);
  if (is_gpu(device)) {
    const auto found = static_cast<int>(find_gpus().gpus.size());
    std::vector<int> gpus;
    for (int i = 0; i < share.deal.gpus; ++i) {
      gpus.push_back(gpu_of(share.process_on_host + i, found));
    }
    backend->gpus = make_cuda_devices(gpus);
    backend->stages = share.deal.stages;
    backend->pinned_host = make_pinned_host();
    add_cuda_kernels(backend->kernels, share.engines);
    add_cpu_kernels(backend->host_kernels);
    backend->transport.add_kernels(backend->host_kernels);
  } else {
    check(device == kCpu, "a device has a name that --device takes");
    add_cpu_kernels(backend->kernels);
  }
  backend->transport.add_kernels(backend->kernels);
  return backend;
}

void add_mpi(Backend& backend, MpiSession& session) {
  backend.mpi = std::make_unique<MpiTransport>(session);
  backend.mpi->add_kernels(backend.kernels);
}

void add_nccl(Backend& backend, std::unique_ptr<Rendezvous> rendezvous,
              const NcclTransportOptions& options) {
  backend.rendezvous = std::move(rendezvous);
  backend.nccl = std::make_unique<NcclTransport>(*backend.rendezvous, options);
  backend.nccl->add_kernels(backend.kernels);
}

void add_exchange(Backend& backend, std::unique_ptr<GrpcExchange> exchange, const Step& part) {
  backend.grpc = std::move(exchange);
  backend.grpc->add_kernels(backend.kernels);
  backend.tickets = std::make_unique<TicketMessages>(part, backend.kernels);
}

TrafficByPlace Backend::traffic() const {
  TrafficByPlace all = transport.traffic();
  if (mpi != nullptr) add(all, mpi->traffic());
  if (nccl != nullptr) add(all, nccl->traffic());
  if (grpc != nullptr) add(all, grpc->traffic());
  return all;
}

ExchangeTimesByPlace Backend::exchange_times() const {
  ExchangeTimesByPlace all = transport.exchange_times();
  if (mpi != nullptr) add(all, mpi->exchange_times());
  if (nccl != nullptr) add(all, nccl->exchange_times());
  if (grpc != nullptr) add(all, grpc->exchange_times());
  return all;
}

}  // namespace regatta
