// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/control_server.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "harness/plan/fingerprint.h"
#include "harness/ranks/control.grpc.pb.h"
#include "kernels/comm/grpc/grpc_channel.h"
#include "kernels/comm/grpc/grpc_hello.h"
#include "kernels/comm/grpc/published.h"

namespace regatta::ranks {
namespace {

using Stream = grpc::ServerReaderWriter<control::ToRank, control::FromRank>;

/// More threads than ranks, because sessions that are refused need one, too.
constexpr int kSpareThreads = 72;

}  // namespace

class ControlServer::Impl final : public control::Control::Service {
 public:
  explicit Impl(const ControlServerOptions& options)
      : identity_(options.identity), sessions_(static_cast<std::size_t>(options.ranks)) {
    listener_ = comm::listen({.listen = options.listen,
                              .name = "coordinator",
                              .tls = options.tls,
                              .limits = kControlLimits},
                             [&](grpc::ServerBuilder& builder) {
                               grpc::ResourceQuota quota("control");
                               quota.SetMaxThreads(options.ranks + kSpareThreads);
                               builder.SetResourceQuota(quota);
                               builder.RegisterService(this);
                             });
    set_up_.publish();
  }

  ~Impl() override {
    listener_.server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    listener_.server->Wait();
  }

  grpc::Status Session(grpc::ServerContext* context, Stream* stream) override {
    set_up_.see();
    const grpc::Status status = comm::check_run(*context, identity_, plan::kProtocolVersion);
    if (!status.ok()) return status;
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

  const std::string& address() const { return listener_.address; }

  const comm::RunIdentity identity_;

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
  comm::Published set_up_;
  comm::Listener listener_;  // last: its threads use all of the above

 private:
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
      if (message.beat().has_loss()) state.loss = message.beat().loss();
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

}  // namespace regatta::ranks
