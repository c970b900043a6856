// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/judge/loss_path.h"
#include "harness/judge/sample_ratio.h"
#include "harness/judge/statistics.h"
#include "harness/system/command_text.h"

namespace regatta::judge {
namespace {

using Sample = std::vector<double>;
using Runs = std::vector<const FinishedRun*>;

/// One test of the comparison; its verdict waits until all tests are known.
struct Test {
  Comparison* result;
  double effect;
  TwoSamples samples;
};

Verdict verdict_of(const RatioInterval& interval, double effect) {
  const double most = 1 + effect;
  if (interval.low >= 1 / most && interval.high <= most) return Verdict::Unchanged;
  return interval.low > 1    ? Verdict::Regressed
         : interval.high < 1 ? Verdict::Improved
                             : Verdict::NotEnoughData;
}

/// Judges all tests; those that can reject share the error equally. Spreads are borrowed among
/// tests of one measure and design.
void judge_together(std::vector<Test>& tests, double alpha) {
  std::map<std::pair<double, Design>, std::vector<MeanRatio*>> alike;
  std::size_t rejecting = 0;
  for (auto& [result, effect, samples] : tests) {
    samples.ratio = mean_ratio_of(samples);
    if (!can_reject(samples, alpha)) continue;
    ++rejecting;
    if (samples.ratio) alike[{effect, samples.design}].push_back(&*samples.ratio);
  }
  for (auto& [measure, ratios] : alike) borrow_spread(ratios);
  const double share = alpha / static_cast<double>(std::max<std::size_t>(1, rejecting));
  for (const auto& [result, effect, samples] : tests) {
    result->ratio = ratio_of(samples);
    if (result->verdict == Verdict::Regressed) continue;  // losses are not subject to chance
    result->interval = interval_of(samples, share);
    result->verdict = verdict_of(*result->interval, effect);
  }
}

double examples_to_target(const FinishedRun* run) {
  return run->examples_to_target.value_or(kInfinity);
}

/// The last loss; infinite for a run that failed or has none.
double last_loss(const FinishedRun* run) {
  const bool known = run->status != record::Status::Failed && run->last_loss && *run->last_loss > 0;
  return known ? *run->last_loss : kInfinity;
}

using Measure = double (*)(const FinishedRun*);

bool all_infinite(const Runs& runs, Measure measure) {
  return std::all_of(runs.begin(), runs.end(),
                     [measure](const auto* run) { return std::isinf(measure(run)); });
}

/// Pairs both sides' runs by seed, in equal order.
std::pair<Runs, Runs> pairs_by_seed(const Runs& base, const Runs& head) {
  std::pair<Runs, Runs> pairs;
  Runs left = head;
  for (const FinishedRun* run : base) {
    const auto found = std::find_if(left.begin(), left.end(), [run](const auto* each) {
      return each->cell.seed == run->cell.seed;
    });
    if (found == left.end()) continue;
    pairs.first.push_back(run);
    pairs.second.push_back(*found);
    left.erase(found);
  }
  return pairs;
}

/// Whether the pairs include all runs of the side with fewer.
bool pair_up(const std::pair<Runs, Runs>& pairs, const Runs& base, const Runs& head) {
  return !pairs.first.empty() && pairs.first.size() == std::min(base.size(), head.size());
}

/// Regressed if most pairs that must compute the same do not. A single pair may differ by rounding.
void follow_losses(const std::pair<Runs, Runs>& pairs, Comparison& result) {
  std::size_t told = 0;
  std::size_t departed = 0;
  for (std::size_t i = 0; i < pairs.first.size(); ++i) {
    const FinishedRun& base = *pairs.first[i];
    const FinishedRun& head = *pairs.second[i];
    if (!must_follow(base, head)) continue;
    const PathComparison path = compare_paths(base, head);
    const bool departs = path.departure || !path.same_examples;
    if (path.steps > 0 || departs) ++told;
    if (!departs) continue;
    ++departed;
    if (!result.note.empty()) continue;
    result.note = path.same_examples
                      ? fmt::format("seed {}, step {}: {} {:.7g} became {:.7g}", base.cell.seed,
                                    path.departure->step, path.departure->what,
                                    path.departure->base, path.departure->head)
                      : fmt::format("seed {}: other examples, or in another order", base.cell.seed);
  }
  if (2 * departed <= told) {
    result.note.clear();
    return;
  }
  result.note =
      fmt::format("computes something else in {} of {} runs: {}", departed, told, result.note);
  result.verdict = Verdict::Regressed;
}

void add_convergence(const Runs& base, const Runs& head, const CompareOptions& options,
                     Comparison& result, std::vector<Test>& tests) {
  if (base.empty() || head.empty()) return;
  const std::pair<Runs, Runs> pairs = pairs_by_seed(base, head);
  if (options.losses == LossPaths::BySeed) follow_losses(pairs, result);
  const auto none_has = [&](Measure measure) {
    return all_infinite(base, measure) && all_infinite(head, measure);
  };
  const Measure measure = none_has(examples_to_target) ? last_loss : examples_to_target;
  if (none_has(measure)) return;
  const bool paired = pair_up(pairs, base, head);
  TwoSamples samples{
      .design = paired ? Design::Pairs : Design::Independent, .base = {}, .head = {}};
  for (const auto* run : paired ? pairs.first : base) samples.base.push_back(measure(run));
  for (const auto* run : paired ? pairs.second : head) samples.head.push_back(measure(run));
  tests.push_back({&result, options.convergence_effect, std::move(samples)});
}

void add_speed(Sample base, Sample head, Design design, double effect, Comparison& result,
               std::vector<Test>& tests) {
  if (base.empty() || head.empty()) return;
  tests.push_back(
      {&result, effect, {.design = design, .base = std::move(base), .head = std::move(head)}});
}

Sample finite(const Runs& runs, Measure measure) {
  Sample sample;
  for (const FinishedRun* run : runs) {
    if (std::isfinite(measure(run))) sample.push_back(measure(run));
  }
  return sample;
}

double seconds_per_example(const FinishedRun* run) {
  const bool known = run->status != record::Status::Failed && run->examples_per_s > 0;
  return known ? 1 / run->examples_per_s : kInfinity;
}

double median_step(const FinishedRun* run) {
  return run->status == record::Status::Failed ? kInfinity : run->median_step_s.value_or(kInfinity);
}

/// Compares both runs of a pair or neither.
void add_speed_of_runs(const Runs& base, const Runs& head, const CompareOptions& options,
                       Comparison& result, std::vector<Test>& tests) {
  const std::pair<Runs, Runs> pairs = pairs_by_seed(base, head);
  const auto& [firsts, seconds] = pairs;
  if (options.taken == Taken::Apart || !pair_up(pairs, base, head)) {
    add_speed(finite(base, seconds_per_example), finite(head, seconds_per_example),
              Design::Independent, options.speed_effect, result, tests);
    return;
  }
  Sample before;
  Sample after;
  for (std::size_t i = 0; i < firsts.size(); ++i) {
    if (std::isinf(median_step(firsts[i])) || std::isinf(median_step(seconds[i]))) continue;
    before.push_back(median_step(firsts[i]));
    after.push_back(median_step(seconds[i]));
  }
  add_speed(before, after, Design::Pairs, options.speed_effect, result, tests);
}

Runs runs_of(const std::vector<FinishedRun>& runs, const std::string& cell) {
  Runs result;
  for (const FinishedRun& run : runs) {
    if (run.name == cell) result.push_back(&run);
  }
  return result;
}

std::size_t failed(const Runs& runs) {
  return static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), [](const auto* run) {
    return run->status == record::Status::Failed;
  }));
}

std::string flags_of(const FinishedRun& run) {
  std::vector<std::string> flags;
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    if (run.arguments[i] == "--seed") {
      ++i;
    } else if (!run.arguments[i].starts_with("--seed=")) {
      flags.push_back(run.arguments[i]);
    }
  }
  return system::command_text(flags);
}

/// The names of the cells of both sides, in the order of first appearance.
std::vector<std::string> cells_of(const Measurements& base, const Measurements& head) {
  std::vector<std::string> names;
  for (const Measurements* side : {&base, &head}) {
    for (const FinishedRun& run : side->runs) {
      if (std::ranges::find(names, run.name) == names.end()) names.push_back(run.name);
    }
  }
  return names;
}

/// Joins the machines' names; empty if all runs are from one.
std::string machines_of(const Runs& base, const Runs& head) {
  std::set<std::string> machines;
  for (const Runs* side : {&base, &head}) {
    for (const FinishedRun* run : *side) machines.insert(run->machine);
  }
  return machines.size() < 2 ? "" : fmt::format("{}", fmt::join(machines, "; "));
}

void add_race(const Runs& base, const Runs& head, const CompareOptions& options,
              CellComparison& cell, std::vector<Test>& tests) {
  const FinishedRun& any = base.empty() ? *head.front() : *base.front();
  cell.name = any.name;
  cell.source = flags_of(any);
  cell.base_runs = base.size();
  cell.head_runs = head.size();
  cell.base_failed = failed(base);
  cell.head_failed = failed(head);
  if (const std::string machines = machines_of(base, head); machines.empty()) {
    add_speed_of_runs(base, head, options, cell.speed, tests);
  } else {
    cell.speed.note = "not of one machine: " + machines;
  }
  add_convergence(base, head, options, cell.convergence, tests);
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::Regressed: return "regressed";
    case Verdict::Improved: return "improved";
    case Verdict::Unchanged: return "unchanged";
    case Verdict::NotEnoughData: return "not enough data";
    case Verdict::NotMeasured: return "not measured";
  }
  return "unknown";
}

std::vector<CellComparison> compare_once(const Measurements& base, const Measurements& head,
                                         const CompareOptions& options) {
  const std::vector<std::string> names = cells_of(base, head);
  std::vector<CellComparison> result(names.size());
  std::vector<Test> tests;
  for (std::size_t i = 0; i < names.size(); ++i) {
    add_race(runs_of(base.runs, names[i]), runs_of(head.runs, names[i]), options, result[i], tests);
  }
  judge_together(tests, options.alpha);
  return result;
}

}  // namespace regatta::judge
