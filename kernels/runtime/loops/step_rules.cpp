// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/step_rules.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/runtime/occasional.h"

namespace regatta {
namespace {

/// A loop may come to its turn long after it could have run. Units: ns.
constexpr std::int64_t kPatienceWithOrder = 3'600'000'000'000;

/// Returns the message of a PeerLost error; empty for any other error.
std::string loss_in(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RunError& known) {
    return known.kind() == ErrorKind::PeerLost ? known.what() : "";
  } catch (...) {
    return "";
  }
}

}  // namespace

StepRules::StepRules(const Step& part, const Plan& plan, const StepRuleOptions& options)
    : graph_(part.graph),
      options_(options),
      loops_(part, plan),
      counts_(static_cast<std::size_t>(loops_.models())),
      quorums_(part, plan, loops_, options.loss, counts_.front()),
      flags_(static_cast<std::size_t>(loops_.count())) {
  for (int model = 0; model < loops_.models(); ++model) {
    const std::int64_t led = loops_.led_examples(model);
    if (led == 0) continue;  // all tickets come from other processes
    ExampleCount& count = counts_[static_cast<std::size_t>(model)];
    count.led = led;
    led_ += led;
    all_ = count.all = loops_.all_examples();
  }
  if (part.staleness_bound) {
    check(loops_.count() == loops_.count_of_all(), "who bounds staleness has a part of all loops");
    bound_.emplace(static_cast<std::size_t>(loops_.count_of_all()), *part.staleness_bound);
  }
  for (int loop = 0; loop < loops_.count(); ++loop) {
    const int number = loops_.number(loop);
    const bool alone = loops_.is_alone(loop);
    check(alone || options_.tickets != nullptr, "loops that span processes have a ticket post");
    rules_.emplace_back(
        StepRule::Parts{.count = counts_[static_cast<std::size_t>(loops_.model(loop))],
                        .quorums = quorums_,
                        .examples = loops_.examples(loop),
                        .loop = number,
                        .bound = bound_ ? &*bound_ : nullptr,
                        .claims = options_.order == nullptr
                                      ? nullptr
                                      : &options_.order->seat_of_claims(loops_.model(loop), number),
                        .sends = !alone && loops_.leads(loop) ? options_.tickets : nullptr,
                        .receives = !alone && !loops_.leads(loop) ? options_.tickets : nullptr});
  }
}

std::int64_t StepRules::wait_limit_ns() const {
  return options_.order == nullptr ? Patience{}.limit_ns : kPatienceWithOrder;
}

std::unique_ptr<Kernel> StepRules::wrap(std::unique_ptr<Kernel> kernel, const Node& node,
                                        const AccessOrder::Turns& turns) {
  if (options_.order != nullptr) {
    kernel = options_.order->in_turn(std::move(kernel), graph_, node, turns);
  }
  return quorums_.behind(graph_, node, in_its_steps(std::move(kernel), node_steps(node)));
}

void StepRules::begin_at(const Positions& positions) {
  for (const LoopPosition& position : positions.loops) {
    if (position.number >= loops_.count_of_all()) {
      throw RunError(ErrorKind::Data,
                     "the checkpoint has a loop that this run has not; fix: give the flags that it "
                     "began with");
    }
    if (bound_) bound_->finish(static_cast<std::size_t>(position.number), position.steps);
    for (int loop = 0; loop < loops_.count(); ++loop) {
      if (loops_.number(loop) != position.number || !loops_.leads(loop)) continue;
      ExampleCount& count = counts_[static_cast<std::size_t>(loops_.model(loop))];
      if (quorums_.empty()) count.claimed += position.steps * loops_.examples(loop);
    }
  }
  quorums_.begin_at(positions.steps, positions.examples);
}

void StepRules::set_target(std::int64_t examples) {
  for (ExampleCount& count : counts_) count.target = count.of_led(examples);
}

std::int64_t StepRules::seen() const {
  std::int64_t claimed = 0;
  for (const ExampleCount& count : counts_) claimed += count.claimed;
  return led_ == all_ ? claimed : claimed * all_ / led_;
}

/// Returns an empty string if the other loops can go on without the loop's worker, which is lost;
/// else the reason why not.
std::string StepRules::retire(int loop) {
  const int number = loops_.number(loop);
  if (bound_) bound_->retire(static_cast<std::size_t>(number));
  return quorums_.retire(number);
}

std::exception_ptr StepRules::end_of_run(int loop, const std::exception_ptr& error) {
  end(loop);
  std::exception_ptr reason = error;
  const std::string loss = loss_in(error);
  if (options_.loss == OnLoss::Continue && !loss.empty()) {
    const std::lock_guard lock(mutex_);
    if (std::find(retired_.begin(), retired_.end(), loop) != retired_.end()) return nullptr;
    retired_.push_back(loop);
    lost_.push_back(loss);
    const std::string too_few = retire(loop);
    if (too_few.empty() && retired_.size() < flags_.size()) return nullptr;
    if (!too_few.empty()) {
      reason = std::make_exception_ptr(RunError(ErrorKind::PeerLost, loss + "; " + too_few));
    }
  }
  end_all();
  return reason;
}

void StepRules::end_all() {
  for (int loop = 0; loop < loops_.count(); ++loop) end(loop);
}

void StepRules::end(int loop) {
  flags_[static_cast<std::size_t>(loop)].raised = true;
  if (options_.tickets != nullptr) options_.tickets->abandon(loops_.number(loop));
}

}  // namespace regatta
