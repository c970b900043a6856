// SPDX-License-Identifier: Apache-2.0
//
// The end of a stream that is connected to: the process with the lower number.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "kernels/comm/grpc/grpc_stream.h"

namespace regatta::exchange {

using ServerReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

/// The reactor of a call that `link` shall be. Answers with who serves; null: the link is taken.
ServerReactor* start_server_stream(grpc::CallbackServerContext& context,
                                   std::shared_ptr<Link> link);

/// A reactor that ends the call with `status`.
ServerReactor* refuse_call(const grpc::Status& status);

}  // namespace regatta::exchange
