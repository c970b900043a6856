// SPDX-License-Identifier: Apache-2.0
//
// Limits on how far a message may run ahead of its lane.
#include "kernels/comm/grpc/grpc_inbox.h"

#include <gtest/gtest.h>

#include <array>

namespace regatta::comm {
namespace {

constexpr std::int64_t kBytes = 4;

std::string error_of_step(Inbox& inbox, std::int64_t step) {
  const std::array<char, kBytes> words{static_cast<char>(step), 0, 0, 0};
  std::vector<grpc::Slice> payload{grpc::Slice(words.data(), words.size())};
  const Frame frame{.step = step, .offset = 0, .total_bytes = kBytes, .payload_bytes = kBytes};
  return inbox.accept(frame, payload);
}

/// Takes the next message and returns its step.
int taken(Inbox& inbox) {
  std::vector<grpc::Slice> slices;
  EXPECT_EQ(inbox.take(slices), kBytes);
  EXPECT_EQ(slices.size(), 1U);
  EXPECT_GT(inbox.arrival().last, 0U);
  return slices.at(0).begin()[0];
}

TEST(Inbox, HoldsSoManyStepsAheadAndGivesThemInOrder) {
  Inbox inbox(kBytes, 5);
  std::int64_t sent = 0;
  int next = 0;
  for (const auto& [more, takes] : {std::pair{3, 2}, {2, 1}, {4, 4}, {4, 3}}) {
    for (int i = 0; i < more; ++i) EXPECT_EQ(error_of_step(inbox, sent++), "");
    for (int i = 0; i < takes; ++i) EXPECT_EQ(taken(inbox), next++);
  }
  while (sent <= next + 5) EXPECT_EQ(error_of_step(inbox, sent++), "");
  const std::string error = error_of_step(inbox, sent);
  EXPECT_EQ(error, "step is " + std::to_string(sent) + ", more than 5 ahead of step " +
                       std::to_string(next));
  while (next < sent) EXPECT_EQ(taken(inbox), next++);
  EXPECT_EQ(error_of_step(inbox, sent), "");
}

}  // namespace
}  // namespace regatta::comm
