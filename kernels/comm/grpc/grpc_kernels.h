// SPDX-License-Identifier: Apache-2.0
//
// The kernels for Send and Receive over a link. A Send ends when the memory of its tensors is free
// again, because gRPC has written them to the socket (small parts are copied first). A Receive
// copies chunks into its tensors as they arrive; a Receive with inputs adds the chunks to the
// inputs instead, whose memory its outputs share.
// Tensors of a GPU pass through host memory (staging.h).
#pragma once

#include <memory>
#include <optional>

#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/grpc/grpc_link.h"
#include "kernels/comm/grpc/push_ledger.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::comm {

/// Where the receipt of a worker's push is recorded.
struct PushAccount {
  PushLedger& ledger;
  ExchangeTimes& times;  ///< times of this message only
};

/// Build the kernel for a Send or a Receive node. `traffic` is the count of the node's place.
/// `traffic`, `link` and the objects in `push` must outlive the kernel.
std::unique_ptr<Kernel> make_send(const KernelRequest& request, const ExchangeOptions& options,
                                  const std::shared_ptr<Link>& link, MemberTraffic& traffic);
std::unique_ptr<Kernel> make_receive(const KernelRequest& request, const ExchangeOptions& options,
                                     const std::shared_ptr<Link>& link, MemberTraffic& traffic,
                                     const std::optional<PushAccount>& push);

}  // namespace regatta::comm
