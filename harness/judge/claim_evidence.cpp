// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/claim_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/judge/cell_runs.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

constexpr double kAlpha = 0.05;
constexpr std::int64_t kFewestSteps = 10;  ///< that tell a speed
constexpr std::size_t kFewestSeeds = 3;    ///< that decide anything
constexpr std::size_t kEnoughInPairs = 5;  ///< seeds from which pairs alone decide

/// By name; what all runs of a field share.
using Setting = std::vector<std::pair<std::string, std::string>>;

Setting setting_of(const Record& record) {
  Setting setting;
  for (const Trait& trait : traits_of(record)) {
    if (trait.role == Trait::Role::Setting) setting.emplace_back(trait.name, trait.value);
  }
  const SoftwareFacts& software = record.software;
  setting.emplace_back("machine", machine_name(record.machine));
  setting.emplace_back("cores available", std::to_string(record.machine.cores_available));
  setting.emplace_back("compiler", software.compiler);
  setting.emplace_back("commit",
                       software.git_commit.substr(0, 10) + (software.dirty ? " with changes" : ""));
  return setting;
}

Contestant contestant_of(const Cell& cell) {
  return {.strategy = cell.strategy,
          .options = unusual_options(cell),
          .workers = cell.workers,
          .stages = cell.stages,
          .processes = cell.processes,
          .threads_per_worker = cell.threads_per_worker,
          .oversubscribed = cell.oversubscribed || cell.shared_gpu,
          .straggler = straggler_text(cell.straggler)};
}

/// Of the settings of one workload each gets the parts that are not the same in all of them.
std::string name_of(const Setting& setting, const std::vector<Setting>& all) {
  std::string name = setting.front().second;
  for (std::size_t i = 1; i < setting.size(); ++i) {
    const bool differs = std::any_of(all.begin(), all.end(), [&](const Setting& other) {
      return other.front() == setting.front() && other[i] != setting[i];
    });
    if (differs && setting[i].second != "none")
      name += fmt::format(", {} {}", setting[i].first, setting[i].second);
  }
  return name;
}

const Strategy* strategy_of(const std::string& name) {
  for (const Strategy* strategy : all_strategies()) {
    if (strategy->name == name) return strategy;
  }
  return nullptr;
}

/// One value a seed: the median of its runs.
std::map<std::uint64_t, double> by_seed(const Runs& runs, const Measure& measure) {
  std::map<std::uint64_t, std::vector<double>> all;
  for (const Record* run : runs) {
    if (const auto value = measure(*run)) all[run->cell.seed].push_back(*value);
  }
  std::map<std::uint64_t, double> result;
  for (const auto& [seed, values] : all) result[seed] = median_interval(values).median;
  return result;
}

Side side_of(const RatioComparison& comparison) {
  const std::size_t seeds = comparison.ratios.size();
  if (seeds < kFewestSeeds) return Side::Unclear;
  if (seeds < kEnoughInPairs && !comparison.apart) return Side::Unclear;
  if (comparison.interval.low > comparison.boundary) return Side::Above;
  if (comparison.interval.high < comparison.boundary) return Side::Below;
  return Side::Unclear;
}

std::string number(double value) {
  if (std::isinf(value)) return "never";
  return value < 9.995 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

Side opposite(Side side) { return side == Side::Above ? Side::Below : Side::Above; }

/// One sentence on the comparisons that decided; empty where nothing is decided.
std::string sureness(std::span<const RatioComparison> comparisons, Says says, Claim& claim) {
  if (claim.verdict == ClaimVerdict::Undecided) return "";
  const bool holds = claim.verdict == ClaimVerdict::Holds;
  const bool one_is_enough = holds == (says.of == Says::Of::Some);
  std::vector<double> p_values;
  for (const RatioComparison& each : comparisons) p_values.push_back(each.p);
  const std::vector<double> corrected = holm(p_values);
  std::optional<std::size_t> decisive;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    if (comparisons[i].side != (holds ? says.truth : opposite(says.truth))) continue;
    const bool clearer = decisive && corrected[i] < corrected[*decisive];
    if (!decisive || clearer == one_is_enough) decisive = i;
  }
  const RatioComparison& one = comparisons[*decisive];
  const std::string which = one_is_enough ? "The clearest" : "The least clear";
  if (one.ratios.size() <= kFewestSeeds) {
    return " Three seeds are too few for a test to be significant; the samples lie apart.";
  }
  const std::string test = fmt::format(
      "p = {:.2g} by Mann-Whitney's test with Holm's correction "
      "over {}",
      corrected[*decisive], comparisons.size());
  if (corrected[*decisive] < kAlpha) {
    claim.support = Support::Significant;
    return fmt::format(" {} is significant: {}.", which, test);
  }
  return fmt::format(
      " {} lies on its side seed by seed (the median's interval covers {:.1f} %), "
      "but the samples are not told apart: {}.",
      which, 100 * one.interval.coverage, test);
}

/// How many comparisons lie on which side, and each of them, by side.
void tell(Claim& claim, std::span<const RatioComparison> comparisons, const Account& account) {
  claim.because = fmt::format("{} Of {} comparisons:", account.measure, comparisons.size());
  std::string comma = " ";
  for (const auto& [side, word] :
       {std::pair(Side::Above, account.above), std::pair(Side::Below, account.below),
        std::pair(Side::Unclear, std::string("cannot be told"))}) {
    const std::size_t here = count(comparisons, side);
    if (here == 0) continue;
    claim.because += fmt::format("{}{} {}", comma, here, word);
    comma = ", ";
    for (const RatioComparison& each : comparisons) {
      if (each.side != side) continue;
      claim.numbers.push_back(fmt::format("{}: {} {}", word, each.what, ratio_text(each)));
    }
  }
  claim.because += '.';
  claim.numbers.insert(claim.numbers.end(), account.more.begin(), account.more.end());
}

}  // namespace

std::vector<Field> fields_of(std::span<const Record> records) {
  std::vector<Setting> order;
  std::map<Setting, Field> fields;
  std::set<std::string> seen;
  for (const Record& record : records) {
    const bool twice = !record.run_id.empty() && !seen.insert(record.run_id).second;
    if (twice || !record.lost_processes.empty()) continue;
    const Setting setting = setting_of(record);
    const auto [field, is_new] = fields.try_emplace(setting);
    if (is_new) order.push_back(setting);
    field->second.runs[contestant_of(record.cell)].push_back(&record);
  }
  std::vector<Field> result;
  for (const Setting& setting : order) {
    result.push_back(std::move(fields.at(setting)));
    result.back().name = name_of(setting, order);
  }
  return result;
}

bool is_unusual(const Contestant& contestant, std::string_view option) {
  return contestant.options.contains(option);
}

OptionValues options_under(const std::string& strategy, const Contestant& contestant) {
  OptionValues shared;
  const Strategy* const other = strategy_of(strategy);
  if (other == nullptr) return shared;
  for (const Option* option : other->options) {
    const auto found = contestant.options.find(option->name);
    if (found != contestant.options.end()) shared.insert(*found);
  }
  return shared;
}

bool is_synchronous(const Contestant& contestant) {
  const Strategy* strategy = strategy_of(contestant.strategy);
  return strategy != nullptr && strategy->exchange == Exchange::Synchronous;
}

bool is_asynchronous(const Contestant& contestant) {
  const Strategy* strategy = strategy_of(contestant.strategy);
  return strategy != nullptr && strategy->exchange == Exchange::Asynchronous &&
         !is_unusual(contestant, "staleness_bound");
}

bool same_resources(const Contestant& a, const Contestant& b) {
  return a.workers == b.workers && a.threads_per_worker == b.threads_per_worker &&
         a.oversubscribed == b.oversubscribed && a.straggler == b.straggler;
}

std::optional<double> speed(const Record& record) {
  const bool whole = record.status != Status::Failed && record.step_time_ns.count >= kFewestSteps;
  if (!whole || record.examples_per_s <= 0) return std::nullopt;
  return record.examples_per_s;
}

bool is_told(const Record& record) {
  return record.status != Status::Failed || (record.failure && record.failure->kind == "diverged");
}

std::optional<double> examples_to_target(const Record& record) {
  if (!is_told(record)) return std::nullopt;
  return record.examples_to_target ? static_cast<double>(*record.examples_to_target) : kInfinity;
}

std::optional<double> seconds_to_target(const Record& record) {
  if (!is_told(record)) return std::nullopt;
  if (!record.training_time_to_target_ns) return kInfinity;
  return static_cast<double>(*record.training_time_to_target_ns) * 1e-9;
}

RatioComparison compare_runs(const std::string& what, const Runs& first, const Runs& other,
                             const Measure& measure, double boundary) {
  RatioComparison result{.what = what, .boundary = boundary, .ratios = {}, .interval = {}};
  const std::map<std::uint64_t, double> others = by_seed(other, measure);
  std::vector<double> a;
  std::vector<double> b;
  for (const auto& [seed, value] : by_seed(first, measure)) {
    const auto found = others.find(seed);
    if (found == others.end() || (std::isinf(value) && std::isinf(found->second))) continue;
    if (found->second == 0) continue;
    result.ratios.push_back(value / found->second);
    a.push_back(value);
    b.push_back(found->second * boundary);
  }
  if (a.empty()) return result;
  result.interval = median_interval(result.ratios);
  result.apart = *std::min_element(a.begin(), a.end()) > *std::max_element(b.begin(), b.end()) ||
                 *std::max_element(a.begin(), a.end()) < *std::min_element(b.begin(), b.end());
  result.p = mann_whitney_p(a, b);
  result.side = side_of(result);
  return result;
}

void keep(std::vector<RatioComparison>& comparisons, RatioComparison one) {
  if (!one.ratios.empty()) comparisons.push_back(std::move(one));
}

std::string ratio_text(const RatioComparison& comparison) {
  const std::size_t seeds = comparison.ratios.size();
  if (seeds == 0) return "no pair of runs";
  if (seeds == 1) return number(comparison.interval.median) + " (1 seed)";
  return fmt::format("{} ({} to {}, {} seeds)", number(comparison.interval.median),
                     number(comparison.interval.low), number(comparison.interval.high), seeds);
}

std::size_t count(std::span<const RatioComparison> comparisons, Side side) {
  return static_cast<std::size_t>(std::count_if(comparisons.begin(), comparisons.end(),
                                                [&](const auto& one) { return one.side == side; }));
}

ClaimVerdict verdict_on(std::span<const RatioComparison> comparisons, Says says) {
  const std::size_t yes = count(comparisons, says.truth);
  const std::size_t no = count(comparisons, opposite(says.truth));
  const std::size_t unclear = count(comparisons, Side::Unclear);
  if (says.of == Says::Of::Some) {
    if (yes > 0) return ClaimVerdict::Holds;
    return no > 0 && unclear == 0 ? ClaimVerdict::DoesNotHold : ClaimVerdict::Undecided;
  }
  if (no > 0) return ClaimVerdict::DoesNotHold;
  return yes > unclear ? ClaimVerdict::Holds : ClaimVerdict::Undecided;
}

void conclude(Claim& claim, std::span<const RatioComparison> comparisons, Says says,
              const Account& account, const std::string& needs) {
  claim.verdict = verdict_on(comparisons, says);
  if (comparisons.empty()) {
    claim.because = "These records hold no " + needs + ".";
  } else {
    tell(claim, comparisons, account);
    claim.because += sureness(comparisons, says, claim);
  }
  if (claim.verdict != ClaimVerdict::Undecided) return;
  const bool wavers = std::any_of(comparisons.begin(), comparisons.end(), [](const auto& each) {
    return each.side == Side::Unclear && each.ratios.size() >= kEnoughInPairs;
  });
  claim.missing = {wavers ? "regatta matrix --tier claims --seeds 10 --out out/claims --resume"
                          : "regatta matrix --tier claims --out out/claims --resume"};
}

}  // namespace regatta
