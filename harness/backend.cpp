// SPDX-License-Identifier: Apache-2.0
#include "harness/backend.h"

#include "harness/layout.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta {

std::unique_ptr<Backend> make_backend(const std::string& device, int process_on_host,
                                      EngineRule engines) {
  auto backend = std::make_unique<Backend>(device);
  if (device == "cuda") {
    const auto gpus = static_cast<int>(find_gpus().gpus.size());
    backend->gpu = make_cuda_device(gpu_of(process_on_host, gpus));
    add_cuda_kernels(backend->kernels, engines);
  } else {
    check(device == "cpu", "a device has a name that --device takes");
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
