// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/quorum.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"

namespace regatta {

/// An update, run as part of the step that all pushes make together.
class Quorum::Behind final : public Kernel {
 public:
  Behind(Quorum& quorum, std::int64_t member, std::unique_ptr<Kernel> update)
      : quorum_(quorum), member_(member), update_(std::move(update)) {}

  void run(const StepContext& context) override {
    if (!quorum_.completes(member_)) return;
    const StepMoment moment = quorum_.moment();
    update_->run({.step = moment.step,
                  .examples = moment.examples,
                  .batch = moment.batch,
                  .counters = context.counters});
    quorum_.updated();
  }

 private:
  Quorum& quorum_;
  std::int64_t member_;
  std::unique_ptr<Kernel> update_;
};

Quorum::Quorum(const QuorumOptions& options)
    : options_(options), seats_(static_cast<std::size_t>(options.members)) {
  check(options.needed >= 1 && options.needed <= options.members,
        "a quorum needs no more pushes than there are members");
}

void Quorum::join(std::int64_t member, const Push& push) { seat(member).push = push; }

std::unique_ptr<Kernel> Quorum::behind(std::int64_t member, std::unique_ptr<Kernel> update) {
  return std::make_unique<Behind>(*this, member, std::move(update));
}

void Quorum::begin_at(std::int64_t steps, std::int64_t examples) {
  steps_ = steps;
  if (options_.applied_examples != nullptr) *options_.applied_examples = examples;
  applied_.advance_to(static_cast<std::uint64_t>(examples));
}

bool Quorum::try_begin(std::int64_t member) {
  const std::lock_guard lock(mutex_);
  Seat& own = seat(member);
  if (own.counts || gathered_ == options_.needed) return false;
  own.began = version();
  return true;
}

std::int64_t Quorum::begin(std::int64_t member, const Patience& patience) {
  for (;;) {
    const std::uint64_t now = applied_.value();
    if (try_begin(member)) return seat(member).began;
    if (!applied_.wait_for(now + 1, patience)) {
      fail("worker " + std::to_string(member), patience);
    }
  }
}

void Quorum::await(std::int64_t examples, const Patience& patience) {
  if (!applied_.wait_for(static_cast<std::uint64_t>(examples), patience)) {
    fail("a server", patience);
  }
}

PushVerdict Quorum::decide(std::int64_t member) {
  const std::lock_guard lock(mutex_);
  Seat& own = seat(member);
  if (own.began == version() && gathered_ < options_.needed) return count(member);
  ++own.dropped;
  return PushVerdict::Dropped;
}

PushVerdict Quorum::follow(std::int64_t member, bool counts) {
  const std::lock_guard lock(mutex_);
  return counts ? count(member) : PushVerdict::Dropped;
}

PushVerdict Quorum::count(std::int64_t member) {
  Seat& own = seat(member);
  check(!own.counts && gathered_ < options_.needed, "a push counts once, for one step");
  own.counts = true;
  ++own.applied;
  gathered_examples_ += own.push.examples;
  if (++gathered_ < options_.needed) return PushVerdict::Counts;
  completing_.store(member, std::memory_order_relaxed);
  return PushVerdict::Completes;
}

/// `counts` does not change between a push that completes a step and the end of the step.
std::span<const Tensor> Quorum::counted(std::int64_t member) const {
  return seat(member).counts ? seat(member).push.gradients : std::span<const Tensor>();
}

float Quorum::weight() const {
  return static_cast<float>(static_cast<double>(options_.batch) /
                            static_cast<double>(gathered_examples_));
}

bool Quorum::updated() {
  if (++updates_run_ < options_.updates) return false;
  updates_run_ = 0;
  const std::lock_guard lock(mutex_);
  completing_.store(-1, std::memory_order_relaxed);
  const std::int64_t next = version() + std::exchange(gathered_examples_, 0);
  gathered_ = 0;
  ++steps_;
  for (Seat& each : seats_) each.counts = false;
  if (options_.applied_examples != nullptr) *options_.applied_examples = next;
  applied_.advance_to(static_cast<std::uint64_t>(next));
  return true;
}

std::string Quorum::retire(std::int64_t member) {
  const std::lock_guard lock(mutex_);
  seat(member).retired = true;
  const auto left =
      std::count_if(seats_.begin(), seats_.end(), [](const Seat& each) { return !each.retired; });
  if (left >= options_.needed) return "";
  return std::to_string(left) + " of " + std::to_string(options_.members) +
         " workers left, but a step needs " + std::to_string(options_.needed);
}

void Quorum::fail(const std::string& who, const Patience& patience) {
  const std::lock_guard lock(mutex_);
  std::string missing;
  for (std::size_t m = 0; m < seats_.size(); ++m) {
    if (seats_[m].counts || seats_[m].retired) continue;
    missing += (missing.empty() ? "worker " : ", worker ") + std::to_string(m);
  }
  throw RunError(ErrorKind::Timeout,
                 "step " + std::to_string(steps_) + ": " + who + " waited " +
                     std::to_string(patience.limit_ns / 1'000'000'000) + " s, but only " +
                     std::to_string(gathered_) + " of the " + std::to_string(options_.needed) +
                     " pushes that a step needs have come; missing: " + missing);
}

}  // namespace regatta
