// SPDX-License-Identifier: Apache-2.0
//
// The devices of a process with their kernels and transports. Backends are chosen by linking, not
// by #ifdef; the source of this file lists them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  /// The device (memory and queues) and the kernels of each place: the GPU, or the host's.
  PlacedDevices devices() const;
  std::unique_ptr<Device> gpu;          ///< null if the CPU computes
  std::unique_ptr<Device> pinned_host;  ///< for the host's place beside a GPU; null: plain memory
  KernelTable kernels;                  ///< kernels of the GPU, or of the CPU
  KernelTable host_kernels{"cpu"};      ///< for the host's place beside a GPU
  std::vector<std::unique_ptr<comm::Transport>> transports;  ///< first the one within the process
  std::unique_ptr<comm::TicketMessages> tickets;             ///< null if every loop has one process

  /// Bytes sent and received by each place since the start. Must not be called while lanes run.
  TrafficByPlace traffic() const;
  /// Arrivals and durations of each place's exchanges. Must not be called while lanes run.
  comm::ExchangeTimesByPlace exchange_times() const;
};

/// Makes the backend of `device`. `process_on_host` is the index of the process among those of its
/// host that have workers, and decides its GPU (gpu_rule.h). With a GPU, queues copy between
/// places, and the host's place is in pinned memory, where the CPU's kernels compute. The host
/// moves all other data between places by reading and writing GPU memory, except for sums between
/// places of one GPU (kernels/comm/in_process/in_process.h), sums by NCCL, and messages to and from
/// servers, which pass through pinned memory (kernels/comm/staging.h). This is safe because a lane
/// has finished its queue before its segment of communication begins (kernels/runtime/lane.h).
/// Throws: RunError(Unsupported, Device) for a device that this build or this machine does not
/// have.
std::unique_ptr<Backend> make_backend(const std::string& device, int process_on_host = 0);

}  // namespace regatta::run
