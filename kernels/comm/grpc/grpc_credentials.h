// SPDX-License-Identifier: Apache-2.0
//
// Plain or TLS, both sides. With TLS both ends show a certificate that the run's authority has
// signed; run id and token are checked all the same.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <memory>
#include <string>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta::exchange {

/// The files ca.pem, cert.pem and key.pem of a folder; no TLS where `folder` is empty.
TlsFiles tls_files_in(const std::string& folder);

/// Lets a server at `address` (without port) and a client shake hands with these files. Does
/// nothing without TLS. Throws: RunError(Usage) naming the file that cannot be read, or with TLS'
/// words and what a certificate must be like.
void check_tls(const TlsFiles& files, const std::string& address);

/// What keeps a channel from its server; empty: nothing. With TLS the first failure counts, as
/// certificates do not mend themselves. Waits for the limit at most.
std::string why_not_connected(const std::shared_ptr<grpc::Channel>& channel, const TlsFiles& files,
                              std::chrono::milliseconds limit);

/// Throws: RunError(Usage) naming a file that cannot be read, as below.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files);
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files);

}  // namespace regatta::exchange
