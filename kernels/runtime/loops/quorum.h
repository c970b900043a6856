// SPDX-License-Identifier: Apache-2.0
//
// One server's side of synchronous training with backup workers: a step takes the first `needed` of
// `members` pushes. A push counts if its worker began at the version that is still current and
// whose step is not complete; otherwise it is dropped. A push computed from parameters of two
// versions is always dropped, because the update that ran during its reads made its version old.
// If its push counts, a worker begins again when the version advances; until then its gradients
// stay where they arrived. The lane of the push that completes the step sums them in the order of
// the members, updates the parameters and advances the version. If its push is dropped, a worker
// begins again at once. Members' shares of the batch may differ, so a step's examples depend on
// which members came first:
//   gradient = sum over them of g_m * batch / sum over them of e_m,
// where g_m is the sum over the e_m examples of member m divided by the batch: the mean over the
// examples that counted. A version is identified by the examples applied before it.
// Source: Chen et al., "Revisiting distributed synchronous SGD", ICLR workshop 2016.
// Threads: each member calls from the lanes of its loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "kernels/runtime/counter.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

struct QuorumOptions {
  std::int64_t needed = 1;
  std::int64_t members = 1;
  std::int64_t batch = 1;  ///< global batch, by which gradients are divided
  std::atomic<std::int64_t>* applied_examples =
      nullptr;  ///< updated at each step; null: nothing is stored
};

/// The fate of a push.
enum class PushVerdict : std::uint8_t {
  Dropped,
  Counts,
  Completes,  ///< counts and completes the step
};

/// A member's push at each of its steps.
struct Push {
  std::span<const Tensor> gradients;  ///< memory where they arrive; outlives the quorum
  std::int64_t examples = 1;          ///< summed in the gradients
};

class Quorum {
 public:
  explicit Quorum(const QuorumOptions& options);

  /// Adds a member. Called before the first step, like behind() and begin_at().
  void join(std::int64_t member, const Push& push);
  /// Wraps an update so that it runs only in the loop of a push that completes a step, and with
  /// that step's number and examples. When all of the member's updates have run, the version
  /// advances.
  std::unique_ptr<Kernel> behind(std::int64_t member, std::unique_ptr<Kernel> update);

  /// Starts as if `steps` steps had applied `examples` examples, with no push since. Called before
  /// the first step.
  void begin_at(std::int64_t steps, std::int64_t examples);

  /// Waits until the member's last push is no longer pending. Returns the examples applied before
  /// the step that the member may now begin. Throws: Aborted; RunError(Timeout) that names the
  /// members that have not pushed.
  std::int64_t begin(std::int64_t member, const Patience& patience);
  /// Waits until `examples` examples are applied. Throws: like begin().
  void await(std::int64_t examples, const Patience& patience);

  /// Decides on the member's push.
  PushVerdict decide(std::int64_t member);
  /// Applies the decision of another server.
  PushVerdict follow(std::int64_t member, bool counts);

  /// The member's gradients if its push counts, else none. Called in the lane of the push
  /// that completes the step.
  std::span<const Tensor> counted(std::int64_t member) const;
  /// The scale of the sum of the gradients that count; 1 when they cover a whole batch.
  float weight() const;
  std::int64_t members() const { return options_.members; }

  /// Marks the member's worker as lost. Returns why no step can be completed any more, or an empty
  /// string.
  std::string retire(std::int64_t member);

  /// Pushes so far. Not while lanes run.
  std::int64_t applied(std::int64_t member) const { return seat(member).applied; }
  std::int64_t dropped(std::int64_t member) const { return seat(member).dropped; }

 private:
  class Behind;
  struct Seat {
    Push push;
    std::int64_t updates = 0;  ///< wrapped by behind()
    std::uint64_t began = 0;   ///< version of its parameters: examples applied
    bool counts = false;       ///< its push counts for the current step
    bool retired = false;
    std::int64_t applied = 0;
    std::int64_t dropped = 0;
  };
  Seat& seat(std::int64_t member) { return seats_.at(static_cast<std::size_t>(member)); }
  const Seat& seat(std::int64_t member) const {
    return seats_.at(static_cast<std::size_t>(member));
  }
  PushVerdict count(std::int64_t member);
  void updated(std::int64_t member);
  [[noreturn]] void fail(const std::string& who, const Patience& patience);

  const QuorumOptions options_;
  Counter applied_;  ///< examples; written by the lane of the push that completes a step
  std::atomic<std::int64_t> completing_{-1};  ///< the member with the lane that updates; -1: none
  std::int64_t updates_run_ = 0;              ///< in the current step, by that lane
  std::int64_t steps_ = 0;                    ///< completed

  mutable std::mutex mutex_;
  std::deque<Seat> seats_;     ///< by member
  std::int64_t gathered_ = 0;  ///< pushes that count for the current step
  std::int64_t gathered_examples_ = 0;
};

}  // namespace regatta
