// SPDX-License-Identifier: Apache-2.0
//
// A listening exchange against callers that do not belong to the run or send invalid data: each
// gets the reason, and neither the process nor its other streams suffer.
#include <gtest/gtest.h>

#include "kernels/base/error_for_test.h"
#include "kernels/comm/grpc/exchange_for_test.h"
#include "kernels/comm/grpc/frame.h"
#include "kernels/comm/grpc/stranger_for_test.h"

namespace regatta::comm {
namespace {

using regatta::testing_support::error_of;
using namespace test;

void expect_refusal(const std::string& address, Metadata metadata, grpc::StatusCode code,
                    const std::string& text) {
  Stranger stranger(address, metadata);
  const grpc::Status status = stranger.finish();
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_EQ(status.error_message(), text);
}

Metadata with(Metadata metadata, const std::string& key, const std::string& value) {
  metadata[key] = value;
  return metadata;
}

TEST(GrpcStrangers, AreToldWhatIsWrongWithThem) {
  End server(options_of(0, 3));
  const std::string address = server.exchange.serve();
  const Metadata sound = metadata_of(1);
  expect_refusal(address, with(sound, "regatta-protocol", "2"),
                 grpc::StatusCode::FAILED_PRECONDITION,
                 "protocol version is '2', this process speaks '1'");
  expect_refusal(address, with(sound, "regatta-run", std::string(32, '1')),
                 grpc::StatusCode::FAILED_PRECONDITION,
                 "run id is '" + std::string(32, '1') + "', this process belongs to another run");
  expect_refusal(address, with(sound, "regatta-token", std::string(64, 'b')),
                 grpc::StatusCode::UNAUTHENTICATED, "the token is not this run's");
  expect_refusal(address, with(sound, "regatta-token", ""), grpc::StatusCode::UNAUTHENTICATED,
                 "the token is not this run's");
  for (const std::string process : {"0", "3", "-1", "1x", "", "99999999999"}) {
    expect_refusal(address, with(sound, "regatta-process", process),
                   grpc::StatusCode::INVALID_ARGUMENT,
                   "process is '" + process + "', must be 1 to 2");
  }
  expect_refusal(address, {}, grpc::StatusCode::FAILED_PRECONDITION,
                 "protocol version is '', this process speaks '1'");
}

TEST(GrpcStrangers, CannotTakeThePlaceOfAProcessThatIsConnected) {
  End server(options_of(0, 2));
  const std::string address = server.exchange.serve();
  End client(options_of(1, 2));
  client.exchange.connect(0, address);
  expect_refusal(address, metadata_of(1), grpc::StatusCode::ALREADY_EXISTS,
                 "process 1 was connected before");
}

/// Server 0 with a valid process 2, expecting message 1 of 1000 bytes from process 1.
struct Scene {
  Scene() : address(server.exchange.serve()) {
    worker.exchange.connect(0, address);
    from_worker = server.receive(2, 2, {5000});
    to_server = worker.send(2, 0, {5000});
    expected = server.receive(1, 1, {1000});
  }
  /// Checks that the valid process is still served.
  void check_worker(std::int64_t step) {
    to_server->set(test::random_tensors({5000}, 1));
    to_server->run(step);
    from_worker->run(step);
  }
  /// The reason with which the wait for message 1 fails.
  std::string lost_reason() {
    return error_of([&] { expected->run(0); }, ErrorKind::PeerLost);
  }
  End server{options_of(0, 3)};
  std::string address;
  End worker{options_of(2, 3)};
  std::unique_ptr<test::MessageEnd> from_worker, to_server, expected;
};

Frame first_frame() {
  return {.run_id = run_id_from_hex(test::kRunIdDigits),
          .from = 1,
          .message = 1,
          .step = 0,
          .offset = 0,
          .total_bytes = 1000,
          .payload_bytes = 1000};
}

test::Bytes chunk_of(const Frame& frame, std::size_t payload) {
  test::Bytes bytes(kFrameBytes + payload, 0x11);
  encode(frame, FrameBytes(bytes.data(), kFrameBytes));
  return bytes;
}

struct Bad {
  std::string what;
  test::Bytes bytes;
};

std::vector<Bad> bad_chunks() {
  Frame other_message = first_frame(), other_total = first_frame(), later = first_frame(),
        middle = first_frame(), other_process = first_frame();
  other_message.message = 9;
  other_total.total_bytes = 1'000'000'000'000;
  later.step = 1;
  middle.offset = 500;
  middle.payload_bytes = 500;
  other_process.from = 2;
  return {{"header length is 0, must be 64", {}},
          {"header length is 63, must be 64", test::Bytes(63, 0)},
          {"magic is ", test::random_bytes(3000, 5)},
          {"payload length is 1000, must be 999", chunk_of(first_frame(), 999)},
          {"payload length is 1000, must be 1001", chunk_of(first_frame(), 1001)},
          {"message 9, which no node here receives", chunk_of(other_message, 1000)},
          {"total length is 1000000000000, must be 1000", chunk_of(other_total, 1000)},
          {"step is 1, must be 0", chunk_of(later, 1000)},
          {"offset is 500, must be 0", chunk_of(middle, 500)},
          {"process is 2, must be 1", chunk_of(other_process, 1000)}};
}

TEST(GrpcStrangers, EndOnlyTheirOwnStreamByABadChunk) {
  for (const Bad& bad : bad_chunks()) {
    Scene scene;
    scene.check_worker(0);
    Stranger stranger(scene.address, metadata_of(1));
    stranger.write(bad.bytes);
    const grpc::Status status = stranger.finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << bad.what;
    EXPECT_NE(status.error_message().find(bad.what), std::string::npos) << status.error_message();
    const std::string reason = scene.lost_reason();
    EXPECT_NE(reason.find(bad.what), std::string::npos) << reason;
    scene.check_worker(1);
  }
}

}  // namespace
}  // namespace regatta::comm
