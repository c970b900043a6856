// SPDX-License-Identifier: Apache-2.0
//
// All-reduce between threads of one process, and its halves reduce_scatter and all_gather: every
// member calls run() with its own buffer in place, and finds there the sum over all members; with a
// half, its own share of the sum, or the shares of all. Sums are taken in an order that is fixed by
// the algorithm, so results are the same bits in every run and at every member.
//
// ring: n shares. In step s = 0 … n - 2 member m adds share m - 1 - s of its predecessor m - 1 to
// its own; share m + 1 is then complete at m. In steps n - 1 … 2 n - 3 it copies the share. The
// first half is a reduce_scatter, the second an all_gather. 2 (n - 1) / n of the buffer in and out
// of each member. Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009.
// reduce_to_one: member 0 adds all others in order; they copy its result.
// hierarchical_copy: two halves reduce to a root each, the first root adds the second's sum, and
// the result goes back the same way. Source: TensorFlow, cross_device_utils.py (there the halves
// lose the last member where the count is odd; here the first half is larger by one).
// double_tree, torus: schedules of messages (kernels/graph/collective_messages.h).
// Every addition of two elements of bf16 is rounded (element_sums.h).
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

namespace regatta {

class AllReduceGroup {
 public:
  struct Request {
    Op op = Op::AllReduce;  ///< or, by a ring, one half of it
    std::string algorithm;
    std::int64_t members = 1;
    std::int64_t group = 0;  ///< numbers the collective: roots of hierarchical_copy rotate with it
    std::int64_t columns = 0;  ///< of a torus; 0: as near to a square as the members allow
    ElementType element = ElementType::F32;  ///< or bf16
  };
  explicit AllReduceGroup(Request request);

  /// Before the first run(), once a member. Shapes: [elements] of the element type.
  void join(std::int64_t member, void* buffer, std::int64_t elements);

  /// What a member tells of one run.
  struct Observer {
    WaitClock* peer_waits = nullptr;  ///< runs until others have arrived
    /// Called for each message taken: from which member, bytes.
    std::function<void(std::int64_t, std::int64_t)> received;
  };

  /// Threads: each member from one thread; returns when this member's buffer holds the sum and no
  /// other member reads this buffer any more. Throws: RunError(Timeout), Aborted.
  void run(std::int64_t member, const Patience& patience, const Observer& observer);

  std::int64_t members() const { return request_.members; }

 private:
  struct Member {
    std::byte* buffer = nullptr;
    Counter progress;  ///< points passed since the first run
    std::uint64_t round = 0;
  };
  /// Another member's progress: of the sender before a chunk is taken, of the receiver when it has
  /// taken one.
  struct Milestone {
    std::int64_t member = 0;
    std::uint64_t point = 0;
  };
  /// A member's schedule and, in its order, what to wait for.
  struct Plan {
    MessageSchedule schedule;
    std::vector<Milestone> taken;    ///< by send
    std::vector<Milestone> offered;  ///< by receive
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
  std::vector<Plan> plans_;   ///< by member, of a schedule of messages
  std::uint64_t points_ = 0;  ///< of a run
};

}  // namespace regatta
