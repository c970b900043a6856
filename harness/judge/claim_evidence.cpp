// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/claim_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/cell_runs.h"
#include "harness/judge/judgement.h"
#include "harness/system/number.h"
#include "strategies/strategy.h"

namespace regatta::judge {
namespace {

constexpr std::size_t kMostSeeds = 50;  ///< the most seeds that a report asks for

/// Settings by name that all runs of a field share.
using Setting = std::vector<std::pair<std::string, std::string>>;

Setting setting_of(const record::Record& record) {
  Setting setting;
  for (const Trait& trait : traits_of(record)) {
    if (trait.part.role != Trait::Role::Setting || trait.name == "rate_scale") continue;
    setting.emplace_back(trait.name, trait.value);
  }
  const system::SoftwareFacts& software = record.software;
  setting.emplace_back("machine", machine_name(record.machine));
  setting.emplace_back("cores available", std::to_string(record.machine.cores_available));
  setting.emplace_back("compiler", software.compiler);
  setting.emplace_back("commit",
                       software.git_commit.substr(0, 10) + (software.dirty ? " with changes" : ""));
  return setting;
}

Contestant contestant_of(const record::Cell& cell) {
  return {.strategy = cell.strategy,
          .options = unusual_options(cell),
          .workers = cell.workers,
          .stages = cell.stages,
          .processes = cell.processes,
          .threads_per_worker = cell.threads_per_worker,
          .oversubscribed = cell.oversubscribed || cell.shared_gpu,
          .straggler = straggler_text(cell.straggler),
          .rate_scale = cell.rate_scale};
}

/// Names a field by the settings in which it differs from others of its workload.
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

const strategies::Strategy* strategy_of(const std::string& name) {
  for (const strategies::Strategy* strategy : strategies::all_strategies()) {
    if (strategy->name == name) return strategy;
  }
  return nullptr;
}

/// Reduces runs to one value per seed, their median.
std::map<std::uint64_t, Measured> by_seed(const Runs& runs, const Measure& measure) {
  struct Values {
    std::vector<double> values, least;
  };
  std::map<std::uint64_t, Values> all;
  for (const record::Record* run : runs) {
    const auto measured = measure(*run);
    if (!measured) continue;
    all[run->cell.seed].values.push_back(measured->value);
    all[run->cell.seed].least.push_back(measured->least);
  }
  std::map<std::uint64_t, Measured> result;
  for (const auto& [seed, each] : all) {
    result.emplace(
        seed, Measured(median_interval(each.values).median, median_interval(each.least).median));
  }
  return result;
}

std::string number(double value) {
  if (std::isinf(value)) return "never";
  return value < 9.995 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

/// Formats worker counts: `2, 4, 8 workers`.
std::string workers_text(const std::set<std::int64_t>& workers) {
  if (workers.size() == 1) return system::plural(*workers.begin(), "worker");
  return fmt::format("{} workers", fmt::join(workers, ", "));
}

/// Describes in `claim.because` how many comparisons lie on each side, and lists them by side.
void tell(Claim& claim, std::span<const RatioComparison> comparisons, const Wording& wording) {
  std::set<std::int64_t> workers;
  for (const RatioComparison& each : comparisons) workers.insert(each.workers);
  claim.because =
      fmt::format("{} Of {} with {}:", wording.measure,
                  system::plural(std::ssize(comparisons), "comparison"), workers_text(workers));
  std::string comma = " ";
  for (const auto& [side, word] :
       {std::pair(Side::Above, wording.above), std::pair(Side::Below, wording.below),
        std::pair(Side::Unclear, std::string("not decided"))}) {
    const auto here = std::count_if(comparisons.begin(), comparisons.end(),
                                    [&](const auto& one) { return one.side == side; });
    if (here == 0) continue;
    claim.because += fmt::format("{}{} {}", comma, here, word);
    comma = ", ";
    for (const RatioComparison& each : comparisons) {
      if (each.side != side) continue;
      claim.numbers.push_back(
          fmt::format("{}: {} {}; control {}", word, each.what, ratio_text(each), each.control));
    }
  }
  claim.because += "; together they are 95 % sure.";
  claim.numbers.insert(claim.numbers.end(), wording.more.begin(), wording.more.end());
}

/// The number of seeds that would decide a majority of the comparisons; 0 if no number would.
std::size_t seeds_that_decide(std::span<const RatioComparison> comparisons) {
  std::vector<std::size_t> needed;
  const double alpha = kAlpha / static_cast<double>(std::max<std::size_t>(1, comparisons.size()));
  for (const RatioComparison& each : comparisons) {
    if (each.side != Side::Unclear) {
      needed.push_back(0);
    } else if (each.pairs) {
      const double distance = std::abs(std::log(each.pairs->value / each.boundary));
      needed.push_back(pairs_for(*each.pairs, distance, {.alpha = alpha}).value_or(kMostSeeds + 1));
    } else {
      needed.push_back(each.seeds < kFewestPairs ? kFewestPairs + 1 : kMostSeeds + 1);
    }
  }
  std::sort(needed.begin(), needed.end());
  const std::size_t most = needed[needed.size() / 2];
  return most <= kMostSeeds ? most : 0;
}

}  // namespace

std::vector<Field> fields_of(std::span<const record::Record> records) {
  std::vector<Setting> order;
  std::map<Setting, Field> fields;
  std::set<std::string> seen;
  for (const record::Record& record : records) {
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
  const strategies::Strategy* const other = strategy_of(strategy);
  if (other == nullptr) return shared;
  const auto share = [&](const Option& option) {
    const auto found = contestant.options.find(option.name);
    if (found != contestant.options.end()) shared.insert(*found);
  };
  for (const Option* option : other->options) share(*option);
  for (const Option* option : strategies::options_of_passes()) {
    if (!strategies::has_default(contestant.strategy, *option)) share(*option);
  }
  return shared;
}

bool is_synchronous(const Contestant& contestant) {
  const strategies::Strategy* strategy = strategy_of(contestant.strategy);
  return strategy != nullptr && strategy->exchange == strategies::Exchange::Synchronous;
}

bool is_asynchronous(const Contestant& contestant) {
  const strategies::Strategy* strategy = strategy_of(contestant.strategy);
  return strategy != nullptr && strategy->exchange == strategies::Exchange::Asynchronous &&
         !is_unusual(contestant, "staleness_bound");
}

std::optional<Contestant> exchanging_always(Contestant contestant) {
  const strategies::Strategy* strategy = strategy_of(contestant.strategy);
  if (strategy == nullptr || strategy->exchange != strategies::Exchange::Periodic)
    return std::nullopt;
  const OptionValue always = std::int64_t{1};
  for (const Option* option : strategy->options) {
    if (option->name != "sync_every") continue;
    const auto period =
        contestant.options.try_emplace("sync_every", *option->default_value()).first;
    if (std::exchange(period->second, always) != always) return contestant;
  }
  return std::nullopt;
}

bool is_compressed(const Contestant& contestant) {
  const std::size_t plus = contestant.strategy.rfind('+');
  if (plus == std::string::npos) return false;
  const strategies::Strategy* strategy = strategy_of(contestant.strategy.substr(plus + 1));
  return strategy != nullptr && strategy->exchange == strategies::Exchange::Compressed;
}

std::string text_of(const Contestant& contestant) {
  std::string text = contestant.strategy + " (" + system::plural(contestant.workers, "worker");
  for (const auto& [option, value] : contestant.options) {
    text += fmt::format(", {}={}", option, to_text(value));
  }
  if (contestant.rate_scale != 1) text += fmt::format(", rate x {}", contestant.rate_scale);
  if (!contestant.straggler.empty()) text += ", straggler " + contestant.straggler;
  return text + ')';
}

bool same_resources(const Contestant& a, const Contestant& b) {
  return a.workers == b.workers && a.threads_per_worker == b.threads_per_worker &&
         a.oversubscribed == b.oversubscribed && a.straggler == b.straggler;
}

std::optional<double> speed(const record::Record& record) {
  const bool whole =
      record.status != record::Status::Failed && record.step_time_ns.count >= kFewestSteps;
  if (!whole || record.examples_per_s <= 0) return std::nullopt;
  return record.examples_per_s;
}

bool is_told(const record::Record& record) {
  return record.status != record::Status::Failed ||
         (record.failure && record.failure->kind == "diverged");
}

std::optional<Measured> examples_to_target(const record::Record& record) {
  if (!is_told(record)) return std::nullopt;
  if (!record.examples_to_target) return kInfinity;
  const auto examples = static_cast<double>(*record.examples_to_target);
  const auto crossing = crossing_of(record);
  if (!crossing || !crossing->before) return examples;
  return Measured(examples, static_cast<double>(crossing->before->examples));
}

std::optional<Measured> seconds_to_target(const record::Record& record) {
  if (!is_told(record)) return std::nullopt;
  if (!record.training_time_to_target_ns) return kInfinity;
  const double seconds = static_cast<double>(*record.training_time_to_target_ns) * 1e-9;
  const auto crossing = crossing_of(record);
  if (!crossing || !crossing->before) return seconds;
  return Measured(seconds, static_cast<double>(crossing->before->training_time_ns) * 1e-9);
}

RatioComparison compare_runs(const std::string& what, const Runs& first, const Runs& other,
                             const Measure& measure, double boundary) {
  RatioComparison result{.what = what, .boundary = boundary};
  const std::map<std::uint64_t, Measured> others = by_seed(other, measure);
  std::vector<double> ratios;
  std::vector<LogRatio> logarithms;
  for (const auto& [seed, own] : by_seed(first, measure)) {
    const auto found = others.find(seed);
    if (found == others.end() || (std::isinf(own.value) && std::isinf(found->second.value)))
      continue;
    if (found->second.value == 0) continue;
    result.samples.head.push_back(own.value);
    result.samples.base.push_back(found->second.value);
    ratios.push_back(own.value / found->second.value);
    logarithms.push_back({.value = std::log(ratios.back()),
                          .low = std::log(own.least / found->second.value),
                          .high = std::log(own.value / found->second.least)});
  }
  result.seeds = ratios.size();
  if (ratios.empty()) return result;
  result.control = text_of(contestant_of(other.front()->cell));
  result.workers = first.front()->cell.workers;
  result.ratio = median_interval(ratios).median;
  const bool finite = std::all_of(logarithms.begin(), logarithms.end(),
                                  [](const LogRatio& each) { return std::isfinite(each.value); });
  if (!finite || result.seeds < kFewestPairs) return result;
  result.pairs = mean_ratio(logarithms);
  result.ratio = result.pairs->value;
  return result;
}

void keep(std::vector<RatioComparison>& comparisons, RatioComparison one) {
  if (one.seeds > 0) comparisons.push_back(std::move(one));
}

void decide(std::vector<RatioComparison>& comparisons) {
  const double alpha = kAlpha / static_cast<double>(std::max<std::size_t>(1, comparisons.size()));
  std::map<std::string, std::vector<MeanRatio*>> by_field;  // workloads differ in their spreads
  for (RatioComparison& each : comparisons) {
    const std::size_t field = std::min(each.what.size(), each.what.rfind(" on "));
    if (each.pairs) by_field[each.what.substr(field)].push_back(&*each.pairs);
  }
  for (const auto& [field, ratios] : by_field) borrow_spread(ratios);
  for (RatioComparison& each : comparisons) {
    each.interval =
        each.pairs ? interval_of(*each.pairs, {.alpha = alpha}) : interval_of(each.samples, alpha);
    each.side = each.interval->low > each.boundary    ? Side::Above
                : each.interval->high < each.boundary ? Side::Below
                                                      : Side::Unclear;
  }
}

std::string ratio_text(const RatioComparison& comparison) {
  const std::string count = system::plural(static_cast<std::int64_t>(comparison.seeds), "seed");
  constexpr double kWidest = 100;  // a wider interval is no information
  if (!comparison.interval || std::isinf(comparison.interval->low) ||
      comparison.interval->high > kWidest * comparison.interval->low) {
    return fmt::format("{} ({})", number(comparison.ratio), count);
  }
  return fmt::format("{} ({} to {}, {})", number(comparison.ratio),
                     number(comparison.interval->low), number(comparison.interval->high), count);
}

Balance balance_of(std::span<const RatioComparison> comparisons, Side truth) {
  Balance balance;
  for (const RatioComparison& each : comparisons) {
    ++(each.side == Side::Unclear ? balance.unclear
       : each.side == truth       ? balance.yes
                                  : balance.no);
  }
  return balance;
}

ClaimVerdict verdict_on(const Balance& balance) {
  if (balance.yes + balance.no <= balance.unclear) return ClaimVerdict::Undecided;
  if (balance.yes > 0 && balance.no > 0) return ClaimVerdict::Mixed;
  return balance.yes > 0 ? ClaimVerdict::Holds : ClaimVerdict::DoesNotHold;
}

void conclude(Claim& claim, std::vector<RatioComparison> comparisons, Side truth,
              const Wording& wording, const std::string& needs) {
  decide(comparisons);
  claim.balance = balance_of(comparisons, truth);
  claim.verdict = verdict_on(claim.balance);
  if (comparisons.empty()) {
    claim.because = "These records hold no " + needs + ".";
  } else {
    tell(claim, comparisons, wording);
  }
  if (claim.verdict != ClaimVerdict::Undecided) return;
  const bool wavers = std::any_of(comparisons.begin(), comparisons.end(),
                                  [](const auto& each) { return each.seeds >= kFewestPairs; });
  claim.seeds = wavers ? seeds_that_decide(comparisons) : kFewestPairs + 1;
  if (claim.seeds == 0) {
    claim.because += fmt::format(" {} seeds would not decide it.", kMostSeeds);
  }
}

void conclude_facts(Claim& claim, const std::vector<Fact>& facts, const std::string& needs) {
  if (facts.empty()) {
    claim.because = "These records hold no " + needs + ".";
    claim.seeds = 1;
    return;
  }
  std::set<std::int64_t> workers;
  for (const Fact& fact : facts) {
    workers.insert(fact.workers.begin(), fact.workers.end());
    ++(fact.holds ? claim.balance.yes : claim.balance.no);
    claim.numbers.push_back(fact.text);
  }
  claim.verdict = verdict_on(claim.balance);
  claim.because = fmt::format(
      "Counted with {}. This follows from the graph and is equal in every run: chance plays no "
      "part.",
      workers_text(workers));
}

}  // namespace regatta::judge
