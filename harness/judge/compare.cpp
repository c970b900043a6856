// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/judge/loss_path.h"
#include "harness/judge/paired_ratio.h"
#include "harness/judge/statistics.h"
#include "harness/system/command_text.h"

namespace regatta::judge {
namespace {

using Sample = std::vector<double>;
using Runs = std::vector<const FinishedRun*>;

enum class Design { Independent, Pairs };

/// One test of the comparison; its verdict waits for the p values of all.
struct Test {
  Comparison* result;
  double effect;
  Design design;
  Sample base;
  Sample head;                          ///< for pairs: element k belongs to base's
  std::optional<MeanRatio> ratio = {};  ///< head's over base's; empty where ranks are compared
};

/// Logarithms of the ratios of pairs. Two infinite values do not differ.
Sample log_ratios(const Test& test) {
  Sample result;
  for (std::size_t i = 0; i < test.base.size(); ++i) {
    const bool equal = test.base[i] == test.head[i];
    result.push_back(equal ? 0 : std::log(test.head[i]) - std::log(test.base[i]));
  }
  return result;
}

struct Logarithms {
  double mean = 0;
  double squares = 0;  ///< sum of squared distances from the mean
};

Logarithms logarithms_of(const Sample& sample) {
  Logarithms result;
  for (double value : sample) result.mean += std::log(value) / static_cast<double>(sample.size());
  for (double value : sample) result.squares += std::pow(std::log(value) - result.mean, 2);
  return result;
}

/// The ratio of means; empty below two runs a side, or where a run missed its target.
std::optional<MeanRatio> mean_ratio_of(const Test& test) {
  const auto usable = [](const Sample& sample) {
    return sample.size() > 1 && std::ranges::all_of(sample, [](double value) {
             return std::isfinite(value) && value > 0;
           });
  };
  if (!usable(test.base) || !usable(test.head)) return std::nullopt;
  if (test.design == Design::Pairs) {
    std::vector<LogRatio> ratios;
    for (double each : log_ratios(test)) ratios.push_back({each, each, each});
    return mean_ratio(ratios);
  }
  // The number of pairs that would give their mean difference the same standard error.
  const Logarithms base = logarithms_of(test.base), head = logarithms_of(test.head);
  const std::size_t freedom = test.base.size() + test.head.size() - 2;
  const double value = std::exp(head.mean - base.mean);
  return MeanRatio{
      .pairs = 2 * test.base.size() * test.head.size() / (test.base.size() + test.head.size()),
      .value = value,
      .spread = std::sqrt(2 * (base.squares + head.squares) / static_cast<double>(freedom)),
      .freedom = freedom,
      .bracket_low = value,
      .bracket_high = value};
}

double p_of(const Test& test) {
  if (test.ratio) return p_of(*test.ratio);
  return test.design == Design::Pairs ? signed_rank_p(log_ratios(test))
                                      : mann_whitney_p(test.base, test.head);
}

/// Whether some outcome of the test on samples of this size can be significant. False for equal
/// samples of deterministic runs, which chance does not affect.
bool can_reject(const Test& test, double alpha) {
  if (test.base == test.head) return false;
  if (test.ratio) return true;
  const auto n = static_cast<double>(test.base.size()), m = static_cast<double>(test.head.size());
  const double ways =
      test.design == Design::Pairs
          ? std::exp2(n)
          : std::exp(std::lgamma(n + m + 1) - std::lgamma(n + 1) - std::lgamma(m + 1));
  return 2 / ways < alpha;
}

double ratio_of(const Test& test) {
  if (test.ratio) return test.ratio->value;
  if (test.design == Design::Pairs) {
    const double middle = median_interval(log_ratios(test)).median;
    return std::isnan(middle) ? 1 : std::exp(middle);  // the middle ones are 0 and infinite
  }
  const double before = median_interval(test.base).median;
  const double after = median_interval(test.head).median;
  if (before == after) return 1;
  return std::isinf(before) ? 0 : after / before;
}

std::optional<double> detectable_of(const Test& test, double alpha) {
  if (test.ratio) return interval_of(*test.ratio, {.alpha = alpha}).high / test.ratio->value - 1;
  if (test.design == Design::Pairs) {
    const std::optional<double> shift = detectable_shift(log_ratios(test), alpha);
    return shift ? std::optional(std::expm1(*shift)) : std::nullopt;
  }
  // The smaller sample limits what both could detect.
  const bool fewer = test.head.size() < test.base.size();
  return detectable_slowdown(fewer ? test.head : test.base, alpha);
}

/// `alpha`: of all tests together, for the corrected p; `least_alpha`: of one test among all.
void judge(const Test& test, double alpha, double least_alpha) {
  Comparison& result = *test.result;
  result.ratio = ratio_of(test);
  result.detectable = detectable_of(test, least_alpha);
  if (result.verdict == Verdict::Regressed) return;  // losses are not subject to chance
  const bool worse = *result.ratio > 1 + test.effect;
  const bool better = *result.ratio < 1 / (1 + test.effect);
  if (result.p < alpha && (worse || better)) {
    result.verdict = worse ? Verdict::Regressed : Verdict::Improved;
    return;
  }
  // Equal samples of deterministic values are complete evidence.
  const bool same = test.base == test.head && test.base.size() > 1;
  const bool would_show = result.detectable && *result.detectable <= 2 * test.effect;
  result.verdict = same || (would_show && !worse) ? Verdict::Unchanged : Verdict::NotEnoughData;
}

/// Judges all tests; those that can reject share the error. Spreads are borrowed among tests of one
/// measure and design.
void judge_together(std::vector<Test>& tests, double alpha) {
  std::map<std::pair<double, Design>, std::vector<MeanRatio*>> alike;
  std::vector<Test*> rejecting;
  for (Test& test : tests) {
    test.ratio = mean_ratio_of(test);
    if (!can_reject(test, alpha)) continue;
    rejecting.push_back(&test);
    if (test.ratio) alike[{test.effect, test.design}].push_back(&*test.ratio);
  }
  for (auto& [measure, ratios] : alike) borrow_spread(ratios);
  std::vector<double> p_values;
  for (const Test* test : rejecting) p_values.push_back(p_of(*test));
  const std::vector<double> corrected = holm(p_values);
  for (std::size_t i = 0; i < rejecting.size(); ++i) rejecting[i]->result->p = corrected[i];
  const double least = alpha / static_cast<double>(std::max<std::size_t>(1, rejecting.size()));
  for (const Test& test : tests) judge(test, alpha, least);
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

/// Regressed if most pairs that must compute the same do not: rounding may part a single one.
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
  Test test{
      &result, options.convergence_effect, paired ? Design::Pairs : Design::Independent, {}, {}};
  for (const auto* run : paired ? pairs.first : base) test.base.push_back(measure(run));
  for (const auto* run : paired ? pairs.second : head) test.head.push_back(measure(run));
  tests.push_back(std::move(test));
}

void add_speed(Sample base, Sample head, Design design, double effect, Comparison& result,
               std::vector<Test>& tests) {
  if (base.empty() || head.empty()) return;
  tests.push_back({&result, effect, design, std::move(base), std::move(head)});
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

bool same_benchmark(const BenchmarkResult& a, const BenchmarkResult& b) {
  return a.program == b.program && a.name == b.name;
}

/// One of each distinct element of both sides, in the order of first appearance.
template <typename T, typename Same>
std::vector<const T*> one_of_each(const std::vector<T>& base, const std::vector<T>& head,
                                  const Same& same) {
  std::vector<const T*> result;
  for (const auto* side : {&base, &head}) {
    for (const T& each : *side) {
      const bool known = std::any_of(result.begin(), result.end(),
                                     [&](const T* other) { return same(*other, each); });
      if (!known) result.push_back(&each);
    }
  }
  return result;
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

void add_benchmark(const BenchmarkResult& base, const BenchmarkResult& head,
                   const CompareOptions& options, CellComparison& cell, std::vector<Test>& tests) {
  const BenchmarkResult& any = base.name.empty() ? head : base;
  cell.kind = CellComparison::Kind::Benchmark;
  cell.name = any.program + ' ' + any.name;
  if (any.name.find(any.label) == std::string::npos) cell.name += " (" + any.label + ')';
  cell.source = any.program;
  cell.base_runs = base.seconds.size() + base.failed;
  cell.head_runs = head.seconds.size() + head.failed;
  cell.base_failed = base.failed;
  cell.head_failed = head.failed;
  const bool whole = base.failed + head.failed == 0 && base.seconds.size() == head.seconds.size();
  const bool pairs = options.taken == Taken::InTurn && whole;
  add_speed(base.seconds, head.seconds, pairs ? Design::Pairs : Design::Independent,
            options.benchmark_effect, cell.speed, tests);
}

BenchmarkResult benchmark_in(const std::vector<BenchmarkResult>& side,
                             const BenchmarkResult& wanted) {
  const auto found = std::find_if(side.begin(), side.end(), [&](const BenchmarkResult& each) {
    return same_benchmark(each, wanted);
  });
  return found == side.end() ? BenchmarkResult() : *found;
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

std::vector<CellComparison> compare(const Measurements& base, const Measurements& head,
                                    const CompareOptions& options) {
  const auto races = one_of_each(base.runs, head.runs,
                                 [](const auto& a, const auto& b) { return a.name == b.name; });
  const auto benchmarks = one_of_each(base.benchmarks, head.benchmarks, same_benchmark);
  std::vector<CellComparison> result(races.size() + benchmarks.size());
  std::vector<Test> tests;
  auto cell = result.begin();
  for (const FinishedRun* race : races) {
    add_race(runs_of(base.runs, race->name), runs_of(head.runs, race->name), options, *cell++,
             tests);
  }
  for (const BenchmarkResult* each : benchmarks) {
    add_benchmark(benchmark_in(base.benchmarks, *each), benchmark_in(head.benchmarks, *each),
                  options, *cell++, tests);
  }
  judge_together(tests, options.alpha);
  return result;
}

}  // namespace regatta::judge
