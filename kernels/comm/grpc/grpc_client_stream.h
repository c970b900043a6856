// SPDX-License-Identifier: Apache-2.0
//
// The connecting end of a stream: the process with the higher number.
#pragma once

#include <grpcpp/channel.h>

#include <memory>

#include "kernels/comm/grpc/grpc_hello.h"
#include "kernels/comm/grpc/grpc_stream.h"

namespace regatta::comm {

/// Starts a call on `channel` and returns its stream; null if the link already has a stream or is
/// lost. The link opens when the server has identified itself, and is lost if the server refuses.
std::shared_ptr<Stream> start_client_stream(const std::shared_ptr<grpc::Channel>& channel,
                                            std::shared_ptr<Link> link, const Hello& hello);

}  // namespace regatta::comm
