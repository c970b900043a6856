// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_client_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/client_callback.h>

#include <utility>

#include "kernels/comm/grpc/grpc_channel.h"
#include "kernels/comm/grpc/published.h"

namespace regatta::comm {
namespace {

class ClientStream final : public Stream,
                           public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  ClientStream(const std::shared_ptr<grpc::Channel>& channel, std::shared_ptr<Link> link)
      : Stream(std::move(link)), stub_(channel) {}

  void start(const Hello& hello) {
    say(hello, context_);
    stub_.PrepareBidiStreamingCall(&context_, std::string(kMethod), {}, this);
    AddHold();  // for writes, which other threads begin
    begin_reading();
    set_up_.publish();
    StartCall();
  }

 private:
  void OnReadInitialMetadataDone(bool ok) override {
    set_up_.see();
    if (ok) {  // otherwise the status holds the reason
      const std::string error = error_in_answer(context_, link().ends());
      if (!error.empty()) {
        link().lose(error);
        cancel();
      } else {
        link().open();
      }
    }
    begin_writing();
  }
  void OnReadDone(bool ok) override { on_read_done(ok); }
  void OnWriteDone(bool ok) override { on_write_done(ok); }
  void OnWritesDoneDone(bool ok) override { on_write_done(ok); }
  void OnDone(const grpc::Status& status) override {
    set_up_.see();
    status_ = status;
    on_over();
  }

  std::string last_words() const override {
    return status_.ok() ? peer_name() + " closed its stream"
                        : "the stream to " + peer_name() + " ended: " + words_of(status_);
  }
  void start_read(grpc::ByteBuffer* chunk) override { StartRead(chunk); }
  void start_write(const grpc::ByteBuffer* chunk, Chunk follows) override {
    StartWrite(chunk, write_options(follows));
  }
  bool start_half_close() override {
    StartWritesDone();
    return true;
  }
  void finish(const grpc::Status& status) override {
    if (!status.ok()) cancel();  // the only way for a client to refuse
    RemoveHold();
  }
  void cancel_call() override { context_.TryCancel(); }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::Status status_;  ///< how the call ended
  Published set_up_;
};

}  // namespace

std::shared_ptr<Stream> start_client_stream(const std::shared_ptr<grpc::Channel>& channel,
                                            std::shared_ptr<Link> link, const Hello& hello) {
  auto stream = std::make_shared<ClientStream>(channel, link);
  if (!link->take(stream)) return nullptr;
  stream->start(hello);
  return stream;
}

}  // namespace regatta::comm
