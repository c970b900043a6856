// SPDX-License-Identifier: Apache-2.0
//
// The devices of a process with their kernels and transports. Backends are chosen by linking, not
// by #ifdef; the source of this file lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/plan/gpu_rule.h"
#include "kernels/comm/collective/rendezvous.h"
#include "kernels/comm/exchange_times.h"
#include "kernels/comm/grpc/grpc_exchange.h"
#include "kernels/comm/grpc/ticket_messages.h"
#include "kernels/comm/in_process/in_process.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/graph/traffic.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/placed_devices.h"

namespace regatta {

struct Backend {
  explicit Backend(const std::string& device) : kernels(device) {}
  /// Whose memory and queues the kernels of each place use (gpu_rule.h).
  PlacedDevices devices() const;
  /// Device::gpu() of the first GPU.
  std::string gpu() const { return gpus.empty() ? "" : gpus.front()->gpu(); }

  std::vector<std::unique_ptr<Device>> gpus;  ///< empty where the CPU computes
  std::int64_t stages = 1;                    ///< of a replica, by which places have GPUs in turn
  std::unique_ptr<Device> pinned_host;  ///< of the host's place beside GPUs; null: plain memory
  KernelTable kernels;                  ///< of the GPUs, or of the CPU
  KernelTable host_kernels{"cpu"};      ///< of the host's place beside GPUs
  InProcessTransport transport;
  std::unique_ptr<MpiTransport> mpi;        ///< null where nothing crosses processes by MPI
  std::unique_ptr<Rendezvous> rendezvous;   ///< where processes meet before they use NCCL
  std::unique_ptr<NcclTransport> nccl;      ///< null where nothing is summed by NCCL
  std::unique_ptr<GrpcExchange> grpc;       ///< null where nothing does so by gRPC
  std::unique_ptr<TicketMessages> tickets;  ///< null where every loop has one process

  /// What each place has sent and received since the start. Not while lanes run.
  TrafficByPlace traffic() const;
  /// When each place came to its exchanges, and what they took. Not while lanes run.
  ExchangeTimesByPlace exchange_times() const;
};

/// The GPUs of a process that computes on GPUs, and how it uses them.
struct GpuShare {
  int process_on_host = 0;  ///< the process' number among its host's compute processes
  GpuDeal deal;             ///< of its places
  EngineRule engines = EngineRule::Heuristic;
};

/// Makes the backend of `device`. With GPUs, queues copy between places, and the host's place is in
/// pinned memory, where the CPU's kernels compute. The host moves all other data between places by
/// reading and writing GPU memory, except for sums between places of one GPU
/// (kernels/comm/in_process/in_process.h), sums by NCCL, and messages to and from servers, which
/// pass through pinned memory (kernels/comm/grpc/staging.h). This is safe because a lane has
/// finished its queue before its segment of communication begins (kernels/runtime/lane.h). Throws:
/// RunError(Unsupported, Device) for a device that this build or this machine does not have.
std::unique_ptr<Backend> make_backend(const std::string& device, const GpuShare& share = {});

/// Adds what members of a collective in several processes need. Together with all ranks.
void add_mpi(Backend& backend, MpiSession& session);

/// Adds what sums gradients between GPUs of processes that meet there. Together with all ranks.
/// Throws: RunError(Unsupported) where NCCL is not installed.
void add_nccl(Backend& backend, std::unique_ptr<Rendezvous> rendezvous,
              const NcclTransportOptions& options = {});

/// Adds what sends and receives of a process need, and the tickets of its loops.
void add_exchange(Backend& backend, std::unique_ptr<GrpcExchange> exchange, const Step& part);

}  // namespace regatta
