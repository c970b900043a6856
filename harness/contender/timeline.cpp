// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/timeline.h"

#include <cmath>

#include "kernels/base/error.h"

namespace regatta::contender {
namespace {

constexpr std::size_t kMostLosses = 4096;
constexpr std::size_t kMostEvaluations = 100'000;
constexpr std::int64_t kMostSteps = 2'000'000;

[[noreturn]] void refuse_event(const std::string& text) {
  throw RunError(ErrorKind::Program, text);
}

bool reaches(const record::Target& target, double metric) {
  return target.metric == "loss" ? metric <= target.value : metric >= target.value;
}

}  // namespace

std::string Timeline::moment() const {
  if (done_ns_) return "after `done`";
  return ready_ns_ ? "after " + std::to_string(examples_) + " examples" : "before `ready`";
}

void Timeline::take(const Event& event) {
  const std::string name = std::string("`") + to_string(event.kind) + '`';
  const bool is_set_up = event.kind == EventKind::Proof || event.kind == EventKind::Ready;
  if (done_ns_) refuse_event(name + " after `done`");
  if (is_set_up && ready_ns_) refuse_event(name + " after `ready`");
  if (!is_set_up && !ready_ns_) refuse_event(name + " before `ready`");
  for (const auto& value : {event.loss, event.metric}) {
    if (value && !std::isfinite(*value))
      throw RunError(ErrorKind::Diverged, "a number of " + name + " is not finite");
  }
  if (options_.total_examples > 0 && event.examples.value_or(0) > options_.total_examples) {
    refuse_event(name + " with " + std::to_string(*event.examples) + " examples; the run has " +
                 std::to_string(options_.total_examples));
  }
  switch (event.kind) {
    case EventKind::Proof:
      if (!options_.prove) refuse_event("a proof, but no --workload is claimed");
      options_.prove(event.json);
      proven_ = true;
      break;
    case EventKind::Ready:
      if (options_.prove && !proven_)
        refuse_event(
            "gave no proof before `ready`; fix: proof, or --workload-name without a claim");
      ready_ns_ = event.at_ns;
      record_.program = event.program;
      break;
    case EventKind::Step: step(event); break;
    case EventKind::EvaluateBegin:
      if (evaluates_since_ns_) refuse_event(name + " twice, without `evaluate`");
      evaluates_since_ns_ = event.at_ns;
      break;
    case EventKind::Evaluate: evaluate(event); break;
    case EventKind::Done: done(); done_ns_ = event.at_ns;
  }
}

void Timeline::step(const Event& event) {
  if (!event.examples) refuse_event("`step` has no examples");
  if (evaluates_since_ns_) refuse_event("`step` before the end of an evaluation");
  if (*event.examples <= examples_) {
    refuse_event("`step` with " + std::to_string(*event.examples) + " examples after " +
                 std::to_string(examples_));
  }
  if (++steps_ > kMostSteps) refuse_event("more than 2000000 steps; fix: tell every tenth");
  if (event.loss && steps_ % steps_in_sample_ == 0) {
    record_.losses.push_back({.examples = examples_, .loss = *event.loss});
    if (record_.losses.size() == kMostLosses) {  // every second goes
      std::size_t kept = 0;
      for (std::size_t i = 1; i < kMostLosses; i += 2) record_.losses[kept++] = record_.losses[i];
      record_.losses.resize(kept);
      steps_in_sample_ *= 2;
    }
  }
  examples_ = *event.examples;
}

void Timeline::evaluate(const Event& event) {
  if (!event.metric) refuse_event("`evaluate` has no metric");
  if (event.examples && *event.examples < examples_) {
    refuse_event("`evaluate` with " + std::to_string(*event.examples) + " examples after " +
                 std::to_string(examples_));
  }
  if (!evaluates_since_ns_ && !event.examples) refuse_event("`evaluate` without `evaluate_begin`");
  auto& all = record_.evaluations;
  examples_ = event.examples.value_or(examples_);
  if (!all.empty() && all.back().examples >= examples_)
    refuse_event("`evaluate` twice after " + std::to_string(examples_) + " examples");
  if (all.size() == kMostEvaluations) refuse_event("more than 100000 evaluations");
  const std::int64_t took_ns = event.at_ns - evaluates_since_ns_.value_or(event.at_ns);
  evaluating_ns_ += took_ns;
  evaluates_since_ns_.reset();
  const std::int64_t trained_ns = training_ns(event.at_ns);
  const double passes =
      options_.train_examples > 0
          ? static_cast<double>(examples_) / static_cast<double>(options_.train_examples)
          : 0;
  const bool is_loss = record_.target.metric == "loss";
  all.push_back({.examples = examples_,
                 .epoch = event.epoch.value_or(passes),
                 .training_time_ns = trained_ns,
                 .full_time_ns = event.at_ns - *ready_ns_,
                 .result_time_ns = trained_ns + took_ns,
                 .loss = event.loss.value_or(is_loss ? *event.metric : 0),
                 .metric = *event.metric});
  if (record_.examples_to_target || !reaches(record_.target, *event.metric)) return;
  record_.examples_to_target = examples_;
  record_.training_time_to_target_ns = trained_ns;
  record_.full_time_to_target_ns = all.back().full_time_ns;
  record_.result_time_to_target_ns = all.back().result_time_ns;
}

void Timeline::done() {
  if (evaluates_since_ns_) refuse_event("`done` before the end of an evaluation");
  if (record_.evaluations.empty()) refuse_event("`done` without an evaluation");
  if (options_.total_examples == 0) return;
  if (examples_ < options_.total_examples) {
    refuse_event("`done` after " + std::to_string(examples_) + " of " +
                 std::to_string(options_.total_examples) + " examples");
  }
  if (record_.evaluations.back().examples < examples_)
    refuse_event("`done` without a last evaluation");
}

std::int64_t Timeline::training_ns(std::int64_t now_ns) const {
  if (!ready_ns_) return 0;
  return evaluates_since_ns_.value_or(done_ns_.value_or(now_ns)) - *ready_ns_ - evaluating_ns_;
}

double Timeline::examples_per_s(std::int64_t now_ns) const {
  const std::int64_t elapsed = training_ns(now_ns);
  return elapsed > 0 ? static_cast<double>(examples_) / (static_cast<double>(elapsed) * 1e-9) : 0;
}

void Timeline::finish(std::int64_t now_ns) {
  record_.training_ns = training_ns(now_ns);
  record_.full_ns = ready_ns_ ? done_ns_.value_or(now_ns) - *ready_ns_ : 0;
  record_.examples_per_s = examples_per_s(now_ns);
}

}  // namespace regatta::contender
