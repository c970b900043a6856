// SPDX-License-Identifier: Apache-2.0
//
// all_reduce between threads of one process, and its two halves, reduce_scatter and all_gather.
// Every member calls run() and finds the result in its own buffer: after an all_reduce the sum over
// all members, after a reduce_scatter its share of that sum, after an all_gather all shares. The
// algorithm fixes the order of additions, so results are bitwise equal in every run and at every
// member.
//
// ring: n shares. In step s = 0 … n - 2 member m adds share m - 1 - s of its predecessor m - 1 to
// its own; share m + 1 is then complete at m. In steps n - 1 … 2 n - 3 it copies the share. The
// first half is a reduce_scatter, the second an all_gather. Each member sends and receives
// 2 (n - 1) / n of the buffer.
// Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009.
// reduce_to_one: member 0 adds the buffers of all others in order; the others copy its result.
// hierarchical_copy: each half of the members reduces to a root, the first root adds the second's
// sum, and the result goes back the same way. Source: TensorFlow, cross_device_utils.py (its halves
// lose the last member where the count is odd; here the first half is larger by one).
// double_tree, torus: schedules of messages (kernels/graph/collective_messages.h).
// bf16 sums are rounded after every addition (element_sums.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/comm/collective/mpi_schedule.h"
#include "kernels/graph/op.h"
#include "kernels/graph/tensor_type.h"
#include "kernels/runtime/counter.h"

namespace regatta::comm {

class AllReduceGroup {
 public:
  struct Request {
    Op op = Op::AllReduce;  ///< a half requires a ring
    std::string algorithm;
    std::int64_t members = 1;
    std::int64_t group = 0;  ///< number of the collective; hierarchical_copy's roots rotate with it
    ElementType element = ElementType::F32;  ///< or bf16
  };
  explicit AllReduceGroup(Request request);

  /// Registers a member's buffer. Called once for each member before the first run().
  /// Shapes: [elements].
  void join(std::int64_t member, void* buffer, std::int64_t elements);

  /// Receives one member's measurements of one run.
  struct Observer {
    WaitClock* peer_waits = nullptr;  ///< counts the time that the member waits for others
    /// Called for each message that the member takes, with the sender and the number of bytes.
    std::function<void(std::int64_t, std::int64_t)> received;
  };

  /// Runs the collective. Threads: each member calls it from its own thread; it returns when the
  /// member's buffer holds the result and no other member reads it any more. Throws:
  /// RunError(Timeout), Aborted.
  void run(std::int64_t member, const Patience& patience, const Observer& observer);

  std::int64_t members() const { return request_.members; }

 private:
  struct Member {
    std::byte* buffer = nullptr;
    Counter progress;  ///< points passed since the first run
    std::uint64_t round = 0;
  };
  /// A point in another member's progress that a transfer waits for: the sender has a chunk ready,
  /// or the receiver has taken one.
  struct Milestone {
    std::int64_t member = 0;
    std::uint64_t point = 0;
  };
  /// A member's schedule and the milestones that its transfers wait for.
  struct Plan {
    MessageSchedule schedule;
    std::vector<Milestone> taken;    ///< `taken[k]`: the receiver has taken send k
    std::vector<Milestone> offered;  ///< `offered[k]`: the sender of receive k has it ready
  };
  class Turn;  // one member's view of one run

  void ring(Turn& turn);
  void reduce_to_one(Turn& turn);
  void hierarchical_copy(Turn& turn);
  void by_schedule(Turn& turn);
  void plan();

  Request request_;
  std::int64_t element_bytes_ = 4;
  std::int64_t elements_ = 0;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<Plan> plans_;   ///< by member; only for schedules of messages
  std::uint64_t points_ = 0;  ///< in one run
};

}  // namespace regatta::comm
