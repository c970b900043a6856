// SPDX-License-Identifier: Apache-2.0
//
// For tests under mpirun: this rank's members of an all_reduce, each with its node, memory and
// kernel, and their contributions by round.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kernels/comm/collective/all_reduce_members_for_test.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/distribute/traffic.h"

namespace regatta::testing_support {

/// The session of this rank, set by main().
inline comm::MpiSession* session = nullptr;

inline constexpr std::int64_t kGroup = 3;
inline constexpr std::int64_t kChunkElements = 64;

/// How members are distributed over ranks.
enum class Dealing { OneEach, TwoEach, Uneven, Scattered };

inline std::vector<std::int64_t> processes(Dealing dealing) {
  std::vector<std::int64_t> all;
  for (std::int64_t rank = 0; rank < session->size(); ++rank) {
    std::int64_t members = 1;
    if (dealing == Dealing::TwoEach) members = 2;
    if (dealing == Dealing::Uneven) members = rank % 3 + 1;
    for (std::int64_t m = 0; m < members; ++m) all.push_back(rank);
  }
  if (dealing != Dealing::Scattered) return all;
  const std::vector<std::int64_t> once = all;
  all.insert(all.end(), once.begin(), once.end());  // each rank again, far from its first member
  return all;
}

inline void fill(std::vector<float>& buffer, std::int64_t member, std::int64_t round) {
  for (std::int64_t i = 0; i < std::ssize(buffer); ++i) {
    buffer[at(i)] = contribution(member, round, i);
  }
}

/// One member of this rank: its node, memory and kernel.
class Member {
 public:
  Member(const KernelTable& table, Node node, const TensorType& bucket, const AbortFlag* abort)
      : node_(std::move(node)), exchanged_(bucket.element, bucket.elements()) {
    tensor_ = {.type = bucket, .data = exchanged_.memory()};
    kernel_ = table.build({.node = node_,
                           .inputs = {&tensor_, 1},
                           .outputs = {&tensor_, 1},
                           .variables = {},
                           .versions_seen = {},
                           .abort = abort});
  }

  std::int64_t number() const { return node_.member; }
  const Place& place() const { return node_.place; }
  std::vector<float>& buffer() { return exchanged_.values(); }
  void run() {
    exchanged_.open();
    kernel_->run({.step = 0, .examples = 0, .counters = &counters_});
    exchanged_.close();
  }
  const LaneCounters& counters() const { return counters_; }

 private:
  Node node_;
  Exchanged exchanged_;
  Tensor tensor_;
  LaneCounters counters_;
  std::unique_ptr<Kernel> kernel_;
};

struct Case {
  std::string algorithm;
  std::vector<std::int64_t> processes;
  std::int64_t elements = 1;
  ElementType element = ElementType::F32;

  TensorType bucket() const { return {element, {elements}}; }
};

inline Node node_of(const Case& test, std::int64_t member, std::int64_t group) {
  return node_of(test.algorithm, test.processes, member, group);
}

/// The members of one collective in this rank.
class Members {
 public:
  explicit Members(const Case& test, const comm::MpiTransportOptions& options = small_chunks(),
                   const AbortFlag* abort = nullptr)
      : transport_(*session, options), table_("test") {
    transport_.add_kernels(table_);
    for (std::int64_t m = 0; m < std::ssize(test.processes); ++m) {
      if (test.processes[at(m)] != session->rank()) continue;
      all_.push_back(
          std::make_unique<Member>(table_, node_of(test, m, kGroup), test.bucket(), abort));
    }
    transport_.connect();
  }

  static comm::MpiTransportOptions small_chunks() {
    return {.chunk_bytes = kChunkElements * 4, .receives_in_flight = 3, .sends_in_flight = 2};
  }

  using AfterRound = std::function<void(Member&, std::int64_t)>;

  /// Runs every member on its own thread for `rounds` rounds. A member refills its buffer as soon
  /// as its run() returns, without waiting for the others.
  void run(
      std::int64_t rounds, const AfterRound& after_round = [](Member&, std::int64_t) {}) {
    std::vector<std::thread> threads;
    for (auto& member : all_) {
      threads.emplace_back([&] {
        for (std::int64_t round = 0; round < rounds; ++round) {
          fill(member->buffer(), member->number(), round);
          member->run();
          after_round(*member, round);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const std::vector<std::unique_ptr<Member>>& all() const { return all_; }
  TrafficByPlace traffic() const { return transport_.traffic(); }
  void settle_arrivals() { transport_.settle_arrivals(); }
  comm::ExchangeTimesByPlace exchange_times() const { return transport_.exchange_times(); }

 private:
  comm::MpiTransport transport_;
  KernelTable table_;
  std::vector<std::unique_ptr<Member>> all_;
};

}  // namespace regatta::testing_support
