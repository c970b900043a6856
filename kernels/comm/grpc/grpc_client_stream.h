// SPDX-License-Identifier: Apache-2.0
//
// The end of a stream that connects: the process with the higher number.
#pragma once

#include <grpcpp/channel.h>

#include <memory>

#include "kernels/comm/grpc/grpc_hello.h"
#include "kernels/comm/grpc/grpc_stream.h"

namespace regatta::exchange {

/// Begins a call on `channel`; the link opens when the server has said who it is, and is lost when
/// the server refuses. Null: the link is taken.
std::shared_ptr<Stream> start_client_stream(const std::shared_ptr<grpc::Channel>& channel,
                                            std::shared_ptr<Link> link, const Hello& hello);

}  // namespace regatta::exchange
