// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_server_stream.h"

#include <grpcpp/server_context.h>

#include <utility>

#include "kernels/comm/grpc/grpc_channel.h"
#include "kernels/comm/grpc/grpc_hello.h"

namespace regatta::comm {
namespace {

class ServerStream final : public Stream, public ServerReactor {
 public:
  ServerStream(grpc::CallbackServerContext& context, std::shared_ptr<Link> link)
      : Stream(std::move(link)), context_(context) {}

  void start() {
    answer(link().ends(), context_);
    StartSendInitialMetadata();
    begin_reading();
    link().open();
  }

 private:
  void OnSendInitialMetadataDone(bool) override { begin_writing(); }
  void OnReadDone(bool ok) override { on_read_done(ok); }
  void OnWriteDone(bool ok) override { on_write_done(ok); }
  void OnDone() override { on_over(); }

  std::string last_words() const override {
    return peer_name() + (context_.IsCancelled() ? " broke its stream off, or its connection did"
                                                 : " closed its stream");
  }
  void start_read(grpc::ByteBuffer* chunk) override { StartRead(chunk); }
  void start_write(const grpc::ByteBuffer* chunk, Chunk follows) override {
    StartWrite(chunk, write_options(follows));
  }
  bool start_half_close() override { return false; }
  void finish(const grpc::Status& status) override { Finish(status); }
  void cancel_call() override { context_.TryCancel(); }

  grpc::CallbackServerContext& context_;
};

class Refusal final : public ServerReactor {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace

ServerReactor* start_server_stream(grpc::CallbackServerContext& context,
                                   std::shared_ptr<Link> link) {
  auto stream = std::make_shared<ServerStream>(context, link);
  if (!link->take(stream)) return nullptr;
  stream->start();
  return stream.get();
}

ServerReactor* refuse_call(const grpc::Status& status) { return new Refusal(status); }

}  // namespace regatta::comm
