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
#include "kernels/comm/grpc/ticket_messages.h"
#include "kernels/comm/transport.h"
#include "kernels/runtime/device.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/placed_devices.h"

namespace regatta::run {

struct Backend {
  explicit Backend(const std::string& device) : kernels(device) {}
  /// Adds a transport. Its kernels replace those of transports that were added before.
  void add(std::unique_ptr<comm::Transport> transport);
  /// The device (memory and queues) and the kernels of each place; gpu_rule.h deals places to GPUs.
  PlacedDevices devices() const;
  /// Returns Device::gpu() of the first GPU; empty if the CPU computes.
  std::string gpu() const { return gpus.empty() ? "" : gpus.front()->gpu(); }

  std::vector<std::unique_ptr<Device>> gpus;  ///< empty if the CPU computes
  plan::GpuDeal deal;                         ///< decides the GPU of each place
  std::unique_ptr<Device> pinned_host;  ///< for the host's place beside GPUs; null: plain memory
  KernelTable kernels;                  ///< kernels of the GPUs, or of the CPU
  KernelTable host_kernels{"cpu"};      ///< for the host's place beside GPUs
  std::vector<std::unique_ptr<comm::Transport>> transports;  ///< first the one within the process
  std::unique_ptr<comm::TicketMessages> tickets;             ///< null if every loop has one process

  /// Bytes sent and received by each place since the start. Must not be called while lanes run.
  TrafficByPlace traffic() const;
  /// Arrivals and durations of each place's exchanges. Must not be called while lanes run.
  comm::ExchangeTimesByPlace exchange_times() const;
};

/// The GPUs of a process that computes on GPUs, and how it uses them.
struct GpuShare {
  int process_on_host = 0;  ///< index of the process among those of its host that have workers
  plan::GpuDeal deal;       ///< assigns the process's GPUs to its places
  EngineRule engines = EngineRule::Heuristic;
};

/// Makes the backend of `device`. With GPUs, queues copy between places, and the host's place is in
/// pinned memory, where the CPU's kernels compute. The host moves all other data between places by
/// reading and writing GPU memory, except for sums between places of one GPU
/// (kernels/comm/in_process/in_process.h), sums by NCCL, and messages to and from servers, which
/// pass through pinned memory (kernels/comm/staging.h). This is safe because a lane has
/// finished its queue before its segment of communication begins (kernels/runtime/lane.h). Throws:
/// RunError(Unsupported, Device) for a device that this build or this machine does not have.
std::unique_ptr<Backend> make_backend(const std::string& device, const GpuShare& share = {});

}  // namespace regatta::run
