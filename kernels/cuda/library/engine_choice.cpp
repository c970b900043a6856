// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/library/engine_choice.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

namespace regatta::cuda {
namespace {

/// A candidate that has run so far.
struct Trial {
  std::size_t candidate;
  std::vector<double> ns;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Runs each candidate once more and drops those that no longer run.
void run_round(std::vector<Trial>& trials, const RunTimed& run) {
  for (Trial& trial : trials) {
    const std::optional<double> ns = run(trial.candidate);
    trial.ns.push_back(ns.value_or(std::numeric_limits<double>::infinity()));
  }
  std::erase_if(trials, [](const Trial& trial) {
    return trial.ns.back() == std::numeric_limits<double>::infinity();
  });
}

void forget_times(std::vector<Trial>& trials) {
  for (Trial& trial : trials) trial.ns.clear();
}

/// Drops slow candidates, but keeps the first, whose time is reported beside the fastest one's.
void drop_hopeless(std::vector<Trial>& trials) {
  double fastest = std::numeric_limits<double>::infinity();
  for (const Trial& trial : trials) fastest = std::min(fastest, trial.ns.back());
  const std::size_t first = trials.front().candidate;
  std::erase_if(trials, [=](const Trial& trial) {
    return trial.candidate != first && trial.ns.back() > kHopeless * fastest;
  });
}

std::optional<EngineChoice> choose_fastest(std::size_t candidates, const RunTimed& run) {
  std::vector<Trial> trials(candidates);
  for (std::size_t c = 0; c < candidates; ++c) trials[c].candidate = c;
  run_round(trials, run);
  if (trials.empty()) return std::nullopt;
  EngineChoice choice{.rule = EngineRule::Timed};
  choice.timed = trials.size();
  forget_times(trials);
  run_round(trials, run);
  for (int round = 1; round < kTrialRounds && !trials.empty(); ++round) {
    if (round == 1) drop_hopeless(trials);
    run_round(trials, run);
  }
  if (trials.empty()) return std::nullopt;
  choice.candidate = choice.first = trials.front().candidate;
  choice.ns = choice.first_ns = median(trials.front().ns);
  for (const Trial& trial : trials) {
    const double ns = median(trial.ns);
    if (ns >= kFasterShare * choice.ns) continue;
    choice.candidate = trial.candidate;
    choice.ns = ns;
  }
  return choice;
}

std::optional<EngineChoice> choose_first(std::size_t candidates, const RunTimed& run) {
  for (std::size_t c = 0; c < candidates; ++c) {
    if (run(c)) return EngineChoice{.candidate = c, .first = c};
  }
  return std::nullopt;
}

std::string milliseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f ms", ns * 1e-6);
  return text;
}

}  // namespace

std::string EngineChoice::text() const {
  if (rule == EngineRule::Heuristic) return "the heuristics' first that runs";
  if (timed == 1) return "the only one that runs, " + milliseconds(ns);
  const std::string fastest = "fastest of " + std::to_string(timed) + ", " + milliseconds(ns);
  if (candidate == first) return fastest + ", the heuristics' first";
  return fastest + "; the heuristics' first " + milliseconds(first_ns);
}

std::optional<EngineChoice> choose_engine(EngineRule rule, std::size_t candidates,
                                          const RunTimed& run) {
  return rule == EngineRule::Timed ? choose_fastest(candidates, run)
                                   : choose_first(candidates, run);
}

std::optional<EngineChoice> EngineChoices::find_or_choose(
    const std::string& key, const std::function<std::optional<EngineChoice>()>& choose) {
  const std::scoped_lock lock(mutex_);
  const auto found = choices_.find(key);
  if (found != choices_.end()) return found->second;
  return choices_[key] = choose();
}

}  // namespace regatta::cuda
