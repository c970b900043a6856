// SPDX-License-Identifier: Apache-2.0
//
// Send and Receive over a link. A Send ends when its tensors' memory is free again: gRPC has
// written everything to the socket, or copied it where parts are small. A Receive copies chunks
// into its tensors as they arrive, or adds them onto its inputs, which share the outputs' memory.
// Tensors of a GPU pass through host memory (staging.h).
#pragma once

#include <memory>
#include <optional>

#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/grpc/grpc_link.h"
#include "kernels/comm/grpc/push_ledger.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::exchange {

/// Where the receipt of a worker's push is recorded.
struct PushAccount {
  PushLedger& ledger;
  ExchangeTimes& times;  ///< of this message alone
};

/// `traffic` counts at the node's own place. It, `link` and `push` outlive the kernel.
std::unique_ptr<Kernel> make_send(const KernelRequest& request, const ExchangeOptions& options,
                                  const std::shared_ptr<Link>& link, MemberTraffic& traffic);
std::unique_ptr<Kernel> make_receive(const KernelRequest& request, const ExchangeOptions& options,
                                     const std::shared_ptr<Link>& link, MemberTraffic& traffic,
                                     const std::optional<PushAccount>& push);

}  // namespace regatta::exchange
