// SPDX-License-Identifier: Apache-2.0
//
// For tests of a listening exchange: a client that breaks the protocol.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "kernels/comm/grpc/exchange_for_test.h"
#include "kernels/comm/grpc/frame.h"

namespace regatta::test {

using Metadata = std::map<std::string, std::string>;

/// The metadata that a valid process sends.
inline Metadata metadata_of(int process) {
  return {{"regatta-protocol", std::to_string(comm::kFrameVersion)},
          {"regatta-run", kRunIdDigits},
          {"regatta-token", kToken},
          {"regatta-process", std::to_string(process)}};
}

/// A client that sends arbitrary metadata and messages.
class Stranger {
 public:
  Stranger(const std::string& address, const Metadata& metadata,
           const std::string& method = "/regatta.Exchange/Stream") {
    grpc::ChannelArguments arguments;
    arguments.SetMaxSendMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    grpc::GenericStub stub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    for (const auto& [key, value] : metadata) context_.AddMetadata(key, value);
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(this);
    next();
  }
  ~Stranger() {
    if (!finished_) {
      context_.TryCancel();
      finish();
    }
    queue_.Shutdown();
    while (next()) {
    }
  }
  /// Writes a message. False: the stream has ended.
  bool write(const Bytes& bytes) {
    const grpc::Slice slice(bytes.data(), bytes.size());
    stream_->Write(grpc::ByteBuffer(&slice, 1), this);
    return next();
  }
  /// The status with which the server ended the stream.
  grpc::Status finish() {
    finished_ = true;
    grpc::Status status;
    stream_->Finish(&status, this);
    next();
    return status;
  }

 private:
  bool next() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool finished_ = false;
};

}  // namespace regatta::test
