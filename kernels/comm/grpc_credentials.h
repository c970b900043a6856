// SPDX-License-Identifier: Apache-2.0
//
// Plain or TLS, both sides. With TLS both ends show a certificate that the run's authority has
// signed; run id and token are checked all the same.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "kernels/comm/exchange_options.h"

namespace regatta::exchange {

/// Throws: RunError(Usage) naming a file that cannot be read, as below.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files);
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files);

}  // namespace regatta::exchange
