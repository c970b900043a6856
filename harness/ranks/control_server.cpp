// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/control_server.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "harness/plan/fingerprint.h"
#include "harness/ranks/control.grpc.pb.h"
#include "kernels/comm/grpc/doorkeeper.h"
#include "kernels/comm/grpc/grpc_credentials.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

using Stream = grpc::ServerReaderWriter<control::ToRank, control::FromRank>;

constexpr int kMostStrangers = 64;  // besides ranks that connect at the same time
/// Sessions that are being refused need a thread, too.
constexpr int kSpareThreads = kMostStrangers + 8;
constexpr int kHandshakeLimitMs = 5000;
constexpr int kIdleLimitMs = 10'000;  // of a connection without a session
constexpr int kPingIntervalMs = 5'000;

/// Takes as long for a wrong text as for a right one.
bool same_secret(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  }
  return difference == 0;
}

std::string value_of(const grpc::ServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return "";
  return {found->second.data(), found->second.size()};
}

grpc::Status authenticate(const grpc::ServerContext& context, const RunIdentity& identity) {
  if (const std::string version = value_of(context, kProtocolKey); version != kProtocolVersion) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "this coordinator speaks protocol " +
                                                       std::string(kProtocolVersion) + ", not '" +
                                                       version.substr(0, 32) + "'"};
  }
  if (value_of(context, kRunIdKey) != identity.run_id) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "this coordinator runs another run"};
  }
  if (!same_secret(value_of(context, kTokenKey), identity.token)) {
    return {grpc::StatusCode::UNAUTHENTICATED, "the token is not this run's"};
  }
  return grpc::Status::OK;
}

}  // namespace

class ControlServer::Impl final : public control::Control::Service {
 public:
  explicit Impl(const ControlServerOptions& options)
      : identity_(options.identity), sessions_(static_cast<std::size_t>(options.ranks)) {
    grpc::ResourceQuota quota("control");
    quota.SetMaxThreads(options.ranks + kSpareThreads);
    open_door(options);
    grpc::ServerBuilder builder;
    builder.SetResourceQuota(quota);
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        exchange::server_credentials(options.tls));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveLimitMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kPingIntervalMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeLimitMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleLimitMs);
    builder.SetMaxReceiveMessageSize(kMostMessageBytes);
    builder.SetMaxSendMessageSize(kMostMessageBytes);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) throw RunError(ErrorKind::Io, "cannot start a gRPC server");
    door_->open(std::move(acceptor));
  }

  ~Impl() override {
    door_->close();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    server_->Wait();
  }

  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override {
    if (const grpc::Status refused = authenticate(*context, identity_); !refused.ok()) {
      return refused;
    }
    door_->admit(context->peer());
    control::FromRank message;
    if (!stream->Read(&message) || !message.has_hello()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "a session begins with a hello"};
    }
    const int rank = message.hello().rank();
    if (rank < 0 || rank >= static_cast<int>(sessions_.size())) {
      return {grpc::StatusCode::OUT_OF_RANGE,
              "rank " + std::to_string(rank) + " of " + std::to_string(sessions_.size())};
    }
    if (!open(rank, message.hello(), stream)) {
      return {grpc::StatusCode::ALREADY_EXISTS,
              "rank " + std::to_string(rank) + " has a session already"};
    }
    while (stream->Read(&message)) take(rank, message);
    close(rank);
    return grpc::Status::OK;
  }

  const std::string& address() const { return door_->address(); }

  const RunIdentity identity_;

  struct RankSession {
    RankState state;
    Stream* stream = nullptr;
    std::mutex writing;  ///< guards the stream: one write at a time, none after its end
  };
  mutable std::mutex mutex_;  ///< guards states and messages
  int ended_sessions_ = 0;
  std::condition_variable arrived_;
  std::deque<RankMessage> messages_;
  std::vector<RankSession> sessions_;
  std::unique_ptr<Doorkeeper> door_;
  std::unique_ptr<grpc::Server> server_;  // last: its threads use all of the above

 private:
  void open_door(const ControlServerOptions& options) {
    try {
      door_ = std::make_unique<Doorkeeper>(
          DoorOptions{.listen = options.listen,
                      .most_strangers = static_cast<std::size_t>(kMostStrangers + options.ranks),
                      .unsent_limit = std::chrono::milliseconds(kKeepaliveLimitMs)});
    } catch (const RunError& error) {
      if (error.kind() != ErrorKind::Usage) throw;
      throw RunError(ErrorKind::Usage,
                     std::string(error.what()) + "; give --listen one that others reach it by");
    }
  }

  RankSession& session(int rank) { return sessions_[static_cast<std::size_t>(rank)]; }

  bool open(int rank, const control::Hello& hello, Stream* stream) {
    const std::lock_guard writing(session(rank).writing);
    const std::lock_guard lock(mutex_);
    RankState& state = session(rank).state;
    if (state.greeted) return false;
    state.greeted = true;
    state.host = hello.host();
    state.pid = hello.pid();
    session(rank).stream = stream;
    return true;
  }

  void take(int rank, control::FromRank& message) {
    const std::lock_guard lock(mutex_);
    RankState& state = session(rank).state;
    ++state.beats;
    if (message.has_beat()) {
      state.examples = message.beat().examples();
      return;
    }
    if (message.has_advanced()) state.examples = message.advanced().examples();
    messages_.push_back({.rank = rank, .body = std::move(message)});
    arrived_.notify_one();
  }

  void close(int rank) {
    const std::lock_guard writing(session(rank).writing);
    const std::lock_guard lock(mutex_);
    session(rank).stream = nullptr;
    session(rank).state.broken = true;
    session(rank).state.ended_before = ended_sessions_++;
    arrived_.notify_one();
  }
};

ControlServer::ControlServer(const ControlServerOptions& options)
    : impl_(std::make_unique<Impl>(options)) {}
ControlServer::~ControlServer() = default;
const std::string& ControlServer::address() const { return impl_->address(); }

std::optional<RankMessage> ControlServer::next(std::chrono::milliseconds limit) {
  std::unique_lock lock(impl_->mutex_);
  if (impl_->messages_.empty()) impl_->arrived_.wait_for(lock, limit);
  if (impl_->messages_.empty()) return std::nullopt;
  RankMessage message = std::move(impl_->messages_.front());
  impl_->messages_.pop_front();
  return message;
}

void ControlServer::send(int rank, const control::ToRank& message) {
  auto& session = impl_->sessions_.at(static_cast<std::size_t>(rank));
  const std::lock_guard writing(session.writing);
  if (session.stream != nullptr) session.stream->Write(message);
}

RankState ControlServer::state(int rank) const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->sessions_.at(static_cast<std::size_t>(rank)).state;
}

}  // namespace regatta
