// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_credentials.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

constexpr std::chrono::seconds kCheckLimit{5};
constexpr std::uintmax_t kMostPem = 1 << 20;  // the largest file. Units: bytes

/// The end of every message about TLS that fails.
constexpr const char* kRemedy =
    "; cert.pem must name the address (subjectAltName), belong to key.pem and be signed by ca.pem, "
    "the same for all processes: ci/make_certificates makes such files";

/// Silences gRPC, which logs peers' messages and failures line by line on stderr; those that matter
/// are raised as errors. GRPC_VERBOSITY keeps the log.
void silence_grpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  static_cast<void>(once);
}

struct SmallFile {
  std::string text;
  std::string reason;  ///< why the file cannot be read; empty if it was
};

/// Reads a regular file; others would block (a FIFO) or have no end (a device).
SmallFile read_small_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::none ||
      status.type() == std::filesystem::file_type::not_found) {
    return {"", error.message()};
  }
  if (status.type() == std::filesystem::file_type::directory) return {"", "Is a directory"};
  if (!std::filesystem::is_regular_file(status)) return {"", "it is no regular file"};
  if (std::filesystem::file_size(path, error) > kMostPem || error) {
    return {"", "it has more than " + std::to_string(kMostPem) + " bytes"};
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file && !text.empty()) return {std::move(text), ""};
  return {"", errno != 0 ? std::strerror(errno) : "it is empty"};
}

std::string contents(const std::string& path, const std::string& kind) {
  const auto [text, reason] = read_small_file(path);
  if (text.empty()) {
    throw RunError(ErrorKind::Usage, "TLS: cannot read '" + path + "': " + reason +
                                         "; a folder for --tls holds ca.pem, cert.pem and key.pem");
  }
  if (text.find(kind + "-----") == std::string::npos) {
    throw RunError(ErrorKind::Usage, "TLS: '" + path + "' holds no " + kind + " in PEM form");
  }
  return text;
}

std::string certificate_in(const std::string& path) { return contents(path, "CERTIFICATE"); }
std::string key_in(const std::string& path) { return contents(path, "PRIVATE KEY"); }

/// gRPC's reason why a call cannot be made, which is more detailed than the channel's state.
std::string words_of_a_call(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCheckLimit);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, "/regatta/Connect", grpc::ByteBuffer(), &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status.error_message();
}

}  // namespace

TlsFiles tls_files_in(const std::string& folder) {
  if (folder.empty()) return {};
  return {.certificate = folder + "/cert.pem",
          .key = folder + "/key.pem",
          .authority = folder + "/ca.pem"};
}

std::string with_port(const std::string& address, int port) {
  const bool bare_ipv6 = address.find(':') != std::string::npos && address.front() != '[';
  return (bare_ipv6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

std::string why_not_connected(const std::shared_ptr<grpc::Channel>& channel, const TlsFiles& files,
                              std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::system_clock::now() + limit;
  for (;;) {
    const grpc_connectivity_state state = channel->GetState(true);
    if (state == GRPC_CHANNEL_READY) return "";
    const bool failed = state == GRPC_CHANNEL_TRANSIENT_FAILURE;
    if (failed && !files.certificate.empty()) return words_of_a_call(channel) + kRemedy;
    if (!channel->WaitForStateChange(state, deadline)) {
      return failed ? words_of_a_call(channel) : "no answer";
    }
  }
}

void check_tls(const TlsFiles& files, const std::string& address) {
  if (files.certificate.empty()) return;
  const std::string what =
      "TLS at " + address + " with '" + files.certificate + "' does not work: ";
  grpc::CallbackGenericService nothing;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(with_port(address, 0), server_credentials(files), &port);
  builder.RegisterCallbackGenericService(&nothing);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    throw RunError(ErrorKind::Usage, what + "no server starts with it" + kRemedy);
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // as for every channel of a run
  const std::string error = why_not_connected(
      grpc::CreateCustomChannel(with_port(address, port), channel_credentials(files), arguments),
      files, kCheckLimit);
  server->Shutdown(std::chrono::system_clock::now());
  server->Wait();
  if (!error.empty()) throw RunError(ErrorKind::Usage, what + error);
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsFiles& files) {
  silence_grpc();
  if (files.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = certificate_in(files.authority);
  options.pem_key_cert_pairs = {{key_in(files.key), certificate_in(files.certificate)}};
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> channel_credentials(const TlsFiles& files) {
  silence_grpc();
  if (files.certificate.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = certificate_in(files.authority);
  options.pem_private_key = key_in(files.key);
  options.pem_cert_chain = certificate_in(files.certificate);
  return grpc::SslCredentials(options);
}

}  // namespace regatta::comm
