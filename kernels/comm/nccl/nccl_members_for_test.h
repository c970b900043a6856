// SPDX-License-Identifier: Apache-2.0
//
// For tests of NCCL's collectives: threads that stand for processes, and the nodes of a sum.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/comm/collective/all_reduce_members_for_test.h"
#include "kernels/comm/collective/rendezvous.h"
#include "kernels/distribute/partition.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/graph.h"

namespace regatta::testing_support {

/// The rendezvous of the threads that stand for processes.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, std::string> texts;
  int processes = 1;
};

class ThreadRendezvous final : public comm::Rendezvous {
 public:
  ThreadRendezvous(Meeting& meeting, int process) : meeting_(meeting), process_(process) {}
  int process() const override { return process_; }
  int processes() const override { return meeting_.processes; }
  std::vector<std::string> exchange(const std::string& text, const Patience&) override {
    std::unique_lock lock(meeting_.mutex);
    meeting_.texts[process_] = text;
    meeting_.changed.notify_all();
    meeting_.changed.wait(lock, [&] { return std::ssize(meeting_.texts) == meeting_.processes; });
    std::vector<std::string> all;
    for (const auto& [process, each] : meeting_.texts) all.push_back(each);
    return all;
  }

 private:
  Meeting& meeting_;
  int process_;
};

enum class Sums { Whole, ByShares };

/// One of the nodes that leave the sum at all members, with its inputs and outputs: an all_reduce
/// of `whole`, or a reduce_scatter of it to the member's share and an all_gather of all shares.
struct SumNode {
  Node node;
  std::vector<Tensor> inputs, outputs;
};
inline std::vector<SumNode> nodes_of_sum(const Node& all_reduce, const Tensor& whole, Sums sums) {
  constexpr std::int64_t kSecondRound = 1000;
  if (sums == Sums::Whole) return {{.node = all_reduce, .inputs = {whole}, .outputs = {whole}}};
  const std::int64_t members = all_reduce.attributes.integer("members");
  const std::int64_t member = all_reduce.member;
  const Range own = share(whole.elements(), members, share_at(member, members));
  std::vector<Tensor> piece;
  if (own.size() > 0) {
    const std::int64_t bytes = size_of(whole.type.element);
    piece.push_back({.type = {whole.type.element, {own.size()}},
                     .data = whole.as<std::byte>() + own.begin * bytes});
  }
  Node scatter = all_reduce;
  scatter.op = Op::ReduceScatter;
  Node gather = all_reduce;
  gather.op = Op::AllGather;
  gather.outputs = {whole.type};
  gather.attributes.set("group", kSecondRound + gather.attributes.integer("group"));
  return {{.node = scatter, .inputs = {whole}, .outputs = piece},
          {.node = gather, .inputs = piece, .outputs = {whole}}};
}

/// A number that differs between the buckets of a round, from which contributions are made.
inline std::int64_t round_of(std::int64_t bucket, std::int64_t round) {
  return 100 * bucket + round;
}

}  // namespace regatta::testing_support
