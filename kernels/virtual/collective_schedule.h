// SPDX-License-Identifier: Apache-2.0
//
// Describes a collective as the work of each member in each step: the messages that it sends when
// the step begins, the number of messages that it awaits, and the bytes that it adds up before the
// next step. The work of a ring is computed on request, so that a ring of 256 members takes no
// memory; other algorithms are lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/graph/collective.h"

namespace regatta::virtual_time {

/// A message from one member to another. Units: bytes.
struct MemberMessage {
  std::int64_t to = 0;
  std::int64_t bytes = 0;
  int handshakes = 0;  ///< round trips before the message is sent, if it crosses hosts
};

struct MemberWork {
  std::vector<MemberMessage> sends;
  std::int64_t awaits = 0;      ///< number of messages to receive in this step
  std::int64_t adds_bytes = 0;  ///< of the received bytes, those added to the member's memory
};

class CollectiveSchedule {
 public:
  /// The algorithm `mpi` is modelled as a reduction to one member and a broadcast, both along
  /// binomial trees: the algorithm of Open MPI's libnbc for an in-place MPI_Iallreduce
  /// (nbc_iallreduce.c). Messages above TCP's eager limit (btl_tcp_eager_limit) first wait for the
  /// receiver's answer. `nccl` is modelled as a ring. Throws: RunError(Unsupported) for an
  /// algorithm that has no schedule.
  explicit CollectiveSchedule(const CollectiveShape& shape);

  std::int64_t members() const { return members_; }
  std::int64_t steps() const { return steps_; }
  bool is_ring() const { return is_ring_; }
  /// Bytes of a member's bucket; in a ring, all members together send as many in each step.
  std::int64_t bytes() const { return elements_ * element_bytes_; }
  /// Writes the work of `member` in `step` to `work`, whose memory is reused.
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
  std::vector<std::vector<MemberWork>> listed_;  ///< [step][member]
};

}  // namespace regatta::virtual_time
