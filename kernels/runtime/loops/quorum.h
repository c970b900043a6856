// SPDX-License-Identifier: Apache-2.0
//
// One server's side of synchronous training with backup workers: a step takes the first `needed` of
// `members` pushes. A push counts when its worker began at the version that is still the current
// one and whose step is not complete; else it is dropped. So a push never counts that saw
// parameters of two versions: an update that ran while they were read has made its version old.
// A worker whose push counts begins again when the version advances, and till then its gradients
// stay where they arrived: the lane of the push that completes the step adds them up, in the order
// of the members, updates the parameters and advances the version. A dropped one begins at once.
// Members' shares of the batch may differ, so that a step's examples are those of who came first:
//   gradient = sum over them of g_m * batch / sum over them of e_m,
// where g_m is the sum over the e_m examples of member m divided by the batch: the mean over the
// examples that counted. A version is known by the examples applied before it.
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
  std::int64_t batch = 1;  ///< that gradients are divided by
  std::atomic<std::int64_t>* applied_examples =
      nullptr;  ///< kept up to date; null: it is not asked for
};

/// What becomes of a push.
enum class Verdict : std::uint8_t {
  Dropped,
  Counts,
  Completes,  ///< counts, and is the last that the step needed
};

/// What a member pushes at each of its steps.
struct Push {
  std::span<const Tensor> gradients;  ///< where they arrive; they outlive the quorum
  std::int64_t examples = 1;          ///< that they are summed over
};

class Quorum {
 public:
  explicit Quorum(const QuorumOptions& options);

  /// Before the first step, as all to the next line.
  void join(std::int64_t member, const Push& push);
  /// An update that runs only in the loop of a push that completes a step, as a kernel of the step
  /// that all pushes make together. When all of a member's have run, the version advances.
  std::unique_ptr<Kernel> behind(std::int64_t member, std::unique_ptr<Kernel> update);

  /// As if so many steps had applied so many examples, with no push since. Before the first
  /// step.
  void begin_at(std::int64_t steps, std::int64_t examples);

  /// Returns the examples applied before the step that the member may now begin, once its last push
  /// is not pending any more. Throws: Aborted; RunError(Timeout) that names who has not pushed.
  std::int64_t begin(std::int64_t member, const Patience& patience);
  /// Waits until so many examples are applied. Throws: as begin().
  void await(std::int64_t examples, const Patience& patience);

  /// Decides on the member's push.
  Verdict decide(std::int64_t member);
  /// Hears what another server has decided.
  Verdict follow(std::int64_t member, bool counts);

  /// After a push that completes a step, in its lane: the gradients of a member whose push counts;
  /// empty for others.
  std::span<const Tensor> counted(std::int64_t member) const;
  /// The scale of the sum of the gradients that count; 1 where their examples are a batch.
  float weight() const;
  std::int64_t members() const { return options_.members; }

  /// The member's worker is lost. Returns why no step can be completed any more, or nothing.
  std::string retire(std::int64_t member);

  /// Pushes so far. Not while lanes run.
  std::int64_t applied(std::int64_t member) const { return seat(member).applied; }
  std::int64_t dropped(std::int64_t member) const { return seat(member).dropped; }

 private:
  class Behind;
  struct Seat {
    Push push;
    std::int64_t updates = 0;  ///< that run behind its push
    std::uint64_t began = 0;   ///< examples applied to the parameters that it computes with
    bool counts = false;       ///< its push is one of the step that is gathered
    bool retired = false;
    std::int64_t applied = 0;
    std::int64_t dropped = 0;
  };
  Seat& seat(std::int64_t member) { return seats_.at(static_cast<std::size_t>(member)); }
  const Seat& seat(std::int64_t member) const {
    return seats_.at(static_cast<std::size_t>(member));
  }
  Verdict count(std::int64_t member);
  void updated(std::int64_t member);
  [[noreturn]] void fail(const std::string& who, const Patience& patience);

  const QuorumOptions options_;
  Counter applied_;  ///< examples; written by the lane of the push that completes a step
  std::atomic<std::int64_t> completing_{-1};  ///< the member whose lane updates; -1: none
  std::int64_t updates_run_ = 0;              ///< of this step, by that lane
  std::int64_t steps_ = 0;                    ///< completed

  mutable std::mutex mutex_;
  std::deque<Seat> seats_;     ///< by member
  std::int64_t gathered_ = 0;  ///< pushes that count for the step at hand
  std::int64_t gathered_examples_ = 0;
};

}  // namespace regatta
