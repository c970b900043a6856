// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/control_client.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "harness/plan/fingerprint.h"
#include "harness/ranks/control.grpc.pb.h"
#include "kernels/base/error.h"
#include "kernels/comm/grpc/grpc_channel.h"
#include "kernels/comm/grpc/grpc_credentials.h"
#include "kernels/comm/grpc/grpc_hello.h"

namespace regatta::ranks {
namespace {

constexpr auto kConnectLimit = std::chrono::seconds(10);

std::shared_ptr<grpc::Channel> open_channel(const std::string& address, const comm::TlsFiles& tls) {
  auto channel = comm::connect({.address = address, .tls = tls, .limits = kControlLimits});
  const std::string error = comm::why_not_connected(channel, tls, kConnectLimit);
  if (error.empty()) return channel;
  throw RunError(ErrorKind::PeerLost,
                 "no connection to the coordinator at " + address + ": " + error +
                     (tls.certificate.empty() ? "; does it run with --tls?" : ""));
}

}  // namespace

class ControlClient::Impl {
 public:
  Impl(const std::string& address, const comm::RunIdentity& identity, const control::Hello& hello,
       const comm::TlsFiles& tls)
      : stub_(open_channel(address, tls)) {
    comm::say(identity, plan::kProtocolVersion, context_);
    stream_ = stub_.Session(&context_);
    control::FromRank first;
    *first.mutable_hello() = hello;
    send(first);
    beater_ = std::thread([this] { keep_beating(); });
  }

  ~Impl() {
    context_.TryCancel();
    finish();
  }

  void set_progress(std::function<control::Beat()> progress) {
    const std::lock_guard lock(beating_);
    progress_ = std::move(progress);
  }

  void send(const control::FromRank& message) {
    const std::lock_guard lock(writing_);
    if (!finished_) stream_->Write(message);
  }

  std::optional<control::ToRank> read() {
    control::ToRank message;
    if (!stream_->Read(&message)) return std::nullopt;
    return message;
  }

  std::string finish() {
    {
      const std::lock_guard lock(beating_);
      stop_ = true;
    }
    stopped_.notify_all();
    if (beater_.joinable()) beater_.join();
    const std::lock_guard lock(writing_);
    if (finished_) return "";
    finished_ = true;
    stream_->WritesDone();
    const grpc::Status status = stream_->Finish();
    return status.ok() ? "" : status.error_message();
  }

 private:
  void keep_beating() {
    std::unique_lock lock(beating_);
    while (!stopped_.wait_for(lock, kBeatPeriod, [this] { return stop_; })) {
      control::FromRank message;
      *message.mutable_beat() = progress_ ? progress_() : control::Beat();
      send(message);
    }
  }

  control::Control::Stub stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<control::FromRank, control::ToRank>> stream_;
  std::mutex writing_;  ///< one write at a time
  bool finished_ = false;
  std::mutex beating_;  ///< guards the members below
  std::condition_variable stopped_;
  bool stop_ = false;
  std::function<control::Beat()> progress_;
  std::thread beater_;
};

ControlClient::ControlClient(const std::string& address, const comm::RunIdentity& identity,
                             const control::Hello& hello, const comm::TlsFiles& tls)
    : impl_(std::make_unique<Impl>(address, identity, hello, tls)) {}
ControlClient::~ControlClient() = default;
void ControlClient::beat(std::function<control::Beat()> progress) {
  impl_->set_progress(std::move(progress));
}
void ControlClient::send(const control::FromRank& message) { impl_->send(message); }
std::optional<control::ToRank> ControlClient::read() { return impl_->read(); }
std::string ControlClient::finish() { return impl_->finish(); }

}  // namespace regatta::ranks
