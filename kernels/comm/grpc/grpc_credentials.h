// SPDX-License-Identifier: Apache-2.0
//
// Credentials of gRPC servers and channels: TLS or none. With TLS both ends present a certificate
// signed by the run's authority. Run id and token are checked with and without TLS.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <memory>
#include <string>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta::comm {

/// Returns the files ca.pem, cert.pem and key.pem in `folder`; no TLS if `folder` is empty.
TlsFiles tls_files_in(const std::string& folder);

/// Checks the files by a TLS handshake between a server at `address` (without port) and a client.
/// Does nothing without TLS. Throws: RunError(Usage) that names a file that cannot be read, or
/// gives the TLS library's message and the conditions that a certificate must satisfy.
void check_tls(const TlsFiles& files, const std::string& address);

/// Joins an address and a port: `127.0.0.1:4000`, `[::1]:4000`.
std::string with_port(const std::string& address, int port);

/// Waits at most `limit` until the channel is connected to its server. Returns an empty string if
/// it is, else the reason why not. With TLS it returns at the first failure, because retries do not
/// repair certificates.
std::string why_not_connected(const std::shared_ptr<grpc::Channel>& channel, const TlsFiles& files,
                              std::chrono::milliseconds limit);

/// Make the credentials of servers and of channels. Both throw RunError(Usage) that names a file
/// which cannot be read.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files);
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files);

}  // namespace regatta::comm
