// SPDX-License-Identifier: Apache-2.0
//
// Credentials of servers and channels: none or TLS. With TLS both ends present a certificate signed
// by the run's authority. Run id and token are checked in either case.
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

/// Checks the files by a TLS handshake between a server at `address` (without port) and a client.
/// Does nothing without TLS. Throws: RunError(Usage) that names the file that cannot be read, or
/// quotes TLS and lists the conditions for a certificate.
void check_tls(const TlsFiles& files, const std::string& address);

/// The reason why a channel is not connected to its server; empty if it is. With TLS the first
/// failure is final, because retrying does not repair certificates. Waits at most for `limit`.
std::string why_not_connected(const std::shared_ptr<grpc::Channel>& channel, const TlsFiles& files,
                              std::chrono::milliseconds limit);

/// Credentials for servers and for channels. Throws: RunError(Usage) naming an unreadable file.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files);
std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files);

}  // namespace regatta::exchange
