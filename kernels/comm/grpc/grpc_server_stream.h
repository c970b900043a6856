// SPDX-License-Identifier: Apache-2.0
//
// The serving end of a stream: the process with the lower number.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "kernels/comm/grpc/grpc_stream.h"

namespace regatta::comm {

using ServerReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

/// Makes the reactor of an accepted call, which becomes the stream of `link`, and answers with this
/// server's identity. Returns null if the link already has a stream or is lost.
ServerReactor* start_server_stream(grpc::CallbackServerContext& context,
                                   std::shared_ptr<Link> link);

/// Makes a reactor that ends the call with `status`.
ServerReactor* refuse_call(const grpc::Status& status);

}  // namespace regatta::comm
