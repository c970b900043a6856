// SPDX-License-Identifier: Apache-2.0
//
// A collective as the work of each member in each step: what it sends when the step begins, how
// many messages it awaits, and what it adds up before the next. Of a ring the work is computed when
// it is asked for, so that one of 256 members takes no memory; of other algorithms it is a list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/graph/collective.h"

namespace regatta::virtual_time {

/// From one member to another. Units: bytes.
struct MemberMessage {
  std::int64_t to = 0;
  std::int64_t bytes = 0;
  int handshakes = 0;  ///< ways there and back that precede it, between hosts
};

struct MemberWork {
  std::vector<MemberMessage> sends;
  std::int64_t awaits = 0;      ///< messages of this step
  std::int64_t adds_bytes = 0;  ///< of them that are added to what is there
};

class CollectiveSchedule {
 public:
  /// `mpi` is a reduction to one member and a broadcast, along binomial trees, as Open MPI's libnbc
  /// computes an MPI_Iallreduce in place (nbc_iallreduce.c), of messages that wait for an answer
  /// of their receiver where they are longer than TCP sends at once (btl_tcp_eager_limit); `nccl`
  /// is taken to be a ring.
  /// Throws: RunError(Unsupported) for an algorithm that has no schedule.
  explicit CollectiveSchedule(const CollectiveShape& shape);

  std::int64_t members() const { return members_; }
  std::int64_t steps() const { return steps_; }
  bool is_ring() const { return is_ring_; }
  /// Into `work`, whose memory is used again.
  void work(std::int64_t member, std::int64_t step, MemberWork& work) const;

 private:
  void send(std::int64_t step, std::int64_t from, const MemberMessage& message, bool is_added);
  void add_to_one(const CollectiveShape& shape);
  void add_hierarchical(const CollectiveShape& shape);
  void add_by_parts(const CollectiveShape& shape);
  void add_binomial(const CollectiveShape& shape);
  void add_messages(const CollectiveShape& shape);
  MemberWork& at(std::int64_t member, std::int64_t step);

  bool is_ring_ = false;
  Range ring_;  ///< the steps of the ring
  std::int64_t members_ = 1;
  std::int64_t steps_ = 0;
  std::int64_t elements_ = 0;
  std::int64_t element_bytes_ = 4;
  std::vector<std::vector<MemberWork>> listed_;  ///< by step, then member
};

}  // namespace regatta::virtual_time
