// SPDX-License-Identifier: Apache-2.0
//
// Messages of tensors on a device with a queue that executes nothing until it is finished. A send
// must carry the values written earlier in the queue, and a received message must be in the
// device's memory when the queue is finished, whatever pieces it came in.
#include "kernels/comm/staging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "kernels/comm/grpc/exchange_for_test.h"
#include "kernels/runtime/deferred_for_test.h"

namespace regatta::comm {
namespace {

using test::Bytes;
using test::random_bytes;

class LateQueue final : public testing_support::DeferringQueue {
 public:
  void finish() override {
    for (const auto& work : std::exchange(work_, {})) work();
  }
  std::size_t kept() const { return work_.size(); }

 private:
  void start(std::function<void()> work) override { work_.push_back(std::move(work)); }
  std::vector<std::function<void()>> work_;
};

Tensor tensor_of(Bytes& bytes) {
  return {.type = {ElementType::U8, {std::ssize(bytes)}}, .data = bytes.data()};
}

TEST(Staging, OfTheHostsTensorsIsWhereTheyAre) {
  Bytes bytes = random_bytes(10, 1);
  const std::vector<Tensor> tensors{tensor_of(bytes)};
  Staging staging(nullptr, tensors);
  EXPECT_EQ(staging.tensors()[0].data, bytes.data());
  staging.fetch();
  staging.begin();
  staging.store_until(10);
}

TEST(Staging, FetchesWhatTheQueueLeaves) {
  LateQueue queue;
  Bytes first(10), second(7);
  const std::vector<Tensor> tensors{tensor_of(first), tensor_of(second)};
  Staging staging(&queue, tensors);
  for (unsigned step = 1; step < 4; ++step) {
    const Bytes wanted[] = {random_bytes(10, step), random_bytes(7, step + 10)};
    queue.put([&] {
      first = wanted[0];
      second = wanted[1];
    });
    staging.fetch();
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* data = staging.tensors()[i].as<std::uint8_t>();
      EXPECT_EQ(Bytes(data, data + wanted[i].size()), wanted[i]);
    }
  }
}

TEST(Staging, StoresEachByteOnceInWhateverPiecesItComes) {
  for (const std::int64_t piece : {1, 3, 10, 12, 17}) {
    LateQueue queue;
    Bytes first(10), second(7);
    const std::vector<Tensor> tensors{tensor_of(first), tensor_of(second)};
    Staging staging(&queue, tensors);
    for (unsigned step = 1; step < 3; ++step) {
      const Bytes wanted = random_bytes(17, step);
      auto* const host = staging.tensors()[0].as<std::uint8_t>();
      staging.begin();
      for (std::int64_t landed = 0; landed < 17;) {
        const std::int64_t next = std::min<std::int64_t>(landed + piece, 17);
        std::copy(wanted.begin() + landed, wanted.begin() + next, host + landed);
        const std::size_t before = queue.kept();
        staging.store_until(next);
        EXPECT_GT(queue.kept(), before);
        landed = next;
      }
      EXPECT_NE(first, Bytes(wanted.begin(), wanted.begin() + 10)) << "done by the host";
      queue.finish();
      EXPECT_EQ(first, Bytes(wanted.begin(), wanted.begin() + 10));
      EXPECT_EQ(second, Bytes(wanted.begin() + 10, wanted.end()));
    }
  }
}

}  // namespace
}  // namespace regatta::comm
