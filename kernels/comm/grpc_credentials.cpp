// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc_credentials.h"

#include <fstream>
#include <iterator>
#include <string>

#include "kernels/graph/error.h"

namespace regatta::exchange {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || text.empty()) {
    throw RunError(ErrorKind::Usage, "TLS: cannot read '" + path + "'");
  }
  return text;
}

}  // namespace

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files) {
  if (files.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = contents(files.authority);
  options.pem_key_cert_pairs = {{contents(files.key), contents(files.certificate)}};
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files) {
  if (files.certificate.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = contents(files.authority);
  options.pem_private_key = contents(files.key);
  options.pem_cert_chain = contents(files.certificate);
  return grpc::SslCredentials(options);
}

}  // namespace regatta::exchange
