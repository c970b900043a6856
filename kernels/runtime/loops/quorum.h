// SPDX-License-Identifier: Apache-2.0
//
// One server's side of synchronous training with backup workers: a step uses the first `needed` of
// the pushes of `members` workers. A push counts if its worker read the parameters at the version
// that is still current and if fewer than `needed` pushes have counted for it; otherwise the push
// is dropped. A push computed from parameters of two versions is always dropped, because the update
// that ran during the worker's reads made its version old.
// A worker whose push counts begins its next step when the version advances; until then its
// gradients stay in the memory where they arrived. A worker whose push is dropped begins again at
// once. The lane of the push that completes the step adds the counted gradients in the order of the
// members, updates the parameters and advances the version. Members' shares of the batch may
// differ, so a step's examples depend on which pushes arrive first. The applied gradient is the
// mean over the examples of the members m that counted:
//   gradient = (sum over m of g_m) * batch / (sum over m of e_m),
// where g_m is the gradient summed over the e_m examples of member m and divided by the batch.
// A version is identified by the number of examples applied before it.
// Source: Chen et al., "Revisiting distributed synchronous SGD", ICLR workshop 2016.
// A simulation calls the same object, and waits in virtual time.
// Threads: each member calls from the lanes of its loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "kernels/graph/node_steps.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

struct QuorumOptions {
  std::int64_t needed = 1;
  std::int64_t members = 1;
  std::int64_t updates = 1;  ///< run after each push that completes a step
  std::int64_t batch = 1;    ///< global batch, by which gradients are divided
  std::atomic<std::int64_t>* applied_examples =
      nullptr;  ///< receives the applied examples after each step; null: not needed
};

/// Whether a push counts for the current step.
enum class PushVerdict : std::uint8_t {
  Dropped,
  Counts,
  Completes,  ///< counts and completes the step
};

/// The gradients that a member pushes in each of its steps.
struct Push {
  std::span<const Tensor> gradients;  ///< where they arrive; must outlive the quorum
  std::int64_t examples = 1;          ///< number of examples that the gradients are summed over
};

class Quorum {
 public:
  explicit Quorum(const QuorumOptions& options);

  /// Adds a member. Called before the first step.
  void join(std::int64_t member, const Push& push);
  /// Wraps the member's update kernel so that it runs only after a push of the member that
  /// completes a step, with that step's number and examples. Called before the first step.
  std::unique_ptr<Kernel> behind(std::int64_t member, std::unique_ptr<Kernel> update);

  /// Resumes after `steps` steps that applied `examples` examples. Called before the first step.
  void begin_at(std::int64_t steps, std::int64_t examples);

  /// Returns the examples applied so far, which identify the current version.
  std::int64_t version() const { return static_cast<std::int64_t>(applied_.value()); }
  /// Begins the member's next step, at the current version, unless its last push counted and is not
  /// applied yet. Returns whether the step has begun.
  bool try_begin(std::int64_t member);
  /// Waits until try_begin() succeeds. Returns the version that the step reads.
  /// Throws: Aborted; RunError(Timeout) that names the members that have not pushed.
  std::int64_t begin(std::int64_t member, const Patience& patience);
  /// Waits until at least `examples` examples are applied. Throws: like begin().
  void await(std::int64_t examples, const Patience& patience);

  /// Decides whether the push that the member has just made counts. Called at the deciding server.
  PushVerdict decide(std::int64_t member);
  /// Applies another server's decision on the member's push; `counts` is that decision.
  PushVerdict follow(std::int64_t member, bool counts);

  /// Whether the member's push completes a step, of which updates are left to run.
  bool completes(std::int64_t member) const {
    return completing_.load(std::memory_order_relaxed) == member;
  }
  /// Returns the moment of the step that is being completed. Called, like updated(), only in the
  /// lane of the push that completes it.
  StepMoment moment() const {
    return {.step = steps_, .examples = version(), .batch = gathered_examples_};
  }
  /// Notes that one of the step's updates has run. Returns true for the last of them, which
  /// advances the version.
  bool updated();

  /// Returns the member's gradients if its push counts for the current step, else none. Called only
  /// in the lane of the push that completes the step.
  std::span<const Tensor> counted(std::int64_t member) const;
  /// Returns the factor for the sum of the counted gradients: batch / their examples.
  float weight() const;
  std::int64_t members() const { return options_.members; }

  /// Marks the member's worker as lost. Returns an empty string if enough workers are left to
  /// complete a step, else the reason why not.
  std::string retire(std::int64_t member);

  /// Returns how many of the member's pushes counted; dropped() returns how many were dropped. Not
  /// called while lanes run.
  std::int64_t applied(std::int64_t member) const { return seat(member).applied; }
  std::int64_t dropped(std::int64_t member) const { return seat(member).dropped; }

 private:
  class Behind;
  struct Seat {
    Push push;
    std::int64_t began = 0;  ///< version of its parameters
    bool counts = false;     ///< its push counts for the current step
    bool retired = false;
    std::int64_t applied = 0;
    std::int64_t dropped = 0;
  };
  Seat& seat(std::int64_t member) { return seats_.at(static_cast<std::size_t>(member)); }
  const Seat& seat(std::int64_t member) const {
    return seats_.at(static_cast<std::size_t>(member));
  }
  PushVerdict count(std::int64_t member);
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
