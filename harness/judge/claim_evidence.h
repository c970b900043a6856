// SPDX-License-Identifier: Apache-2.0
//
// Records dealt into what may be compared, and comparisons of two contestants seed by seed, as
// paired_ratio.h does.
//
// A comparison has a boundary: the ratio on whose sides the claim is true and false. It is decided
// when the interval of the ratio lies on one side. All comparisons of a claim together are wrong in
// 5 % of cases at most: each has its share of that (Bonferroni).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/claims.h"
#include "harness/judge/paired_ratio.h"
#include "harness/judge/statistics.h"
#include "harness/record/record.h"

namespace regatta {

/// One line of a figure: a cell, minus its seed and the fields that every compared run
/// shares.
struct Contestant {
  std::string strategy;
  OptionValues options;  ///< of the strategy, as far as they are not as usual
  std::int64_t workers = 1;
  std::int64_t stages = 1;
  std::int64_t processes = 1;
  std::int64_t threads_per_worker = 1;
  bool oversubscribed = false;  ///< or workers that share a GPU: speeds compare with no other
  std::string straggler;        ///< `1:3`, empty for none
  double rate_scale = 1;        ///< each may have its own
  auto operator<=>(const Contestant&) const = default;
};

/// Whether an option of the strategy is not as usual.
bool is_unusual(const Contestant& contestant, std::string_view option);

/// Of the contestant's unusual options those that `strategy` declares, too.
OptionValues options_under(const std::string& strategy, const Contestant& contestant);

using Runs = std::vector<const Record*>;

/// Runs that may be compared: all but the contestant is equal.
struct Field {
  std::string name;  ///< its workload, and whatever tells it from the others of that workload
  std::map<Contestant, Runs> runs;
};

/// In the order of their first record. Runs that lost a process on their way are in none.
std::vector<Field> fields_of(std::span<const Record> records);

/// As the strategy table has it, of single strategies. Other compositions than of compression are
/// in no claim.
bool is_synchronous(const Contestant& contestant);
/// Without a bound on staleness.
bool is_asynchronous(const Contestant& contestant);

/// The contestant with an exchange in every step; empty for one that exchanges as often anyway.
std::optional<Contestant> exchanging_always(Contestant contestant);
/// A strategy whose exchange another behind it compresses.
bool is_compressed(const Contestant& contestant);

/// `diloco (2 workers, sync_every=16)`
std::string text_of(const Contestant& contestant);

/// Equal in workers, threads, straggler and whether they share cores, whatever the strategy.
bool same_resources(const Contestant& a, const Contestant& b);

/// What a run says. What is seen at an evaluation came between that and the one before.
struct Measured {
  double value = 0;
  double least = 0;

  Measured(double known) : value(known), least(known) {}  // NOLINT: a number is one
  Measured(double seen, double before) : value(seen), least(before) {}
};
using Measure = std::function<std::optional<Measured>(const Record&)>;
/// Units: examples/s; nothing of a failed run and of one of very few steps.
std::optional<double> speed(const Record& record);
/// False for a run that a crash or a lost peer ended: it says nothing about learning.
bool is_told(const Record& record);
std::optional<Measured> examples_to_target(const Record& record);  ///< infinite when not reached
std::optional<Measured> seconds_to_target(const Record& record);   ///< of the training clock

enum class Side { Above, Below, Unclear };

struct RatioComparison {
  std::string what;     ///< such as `in_graph on resnet9_thin`
  std::string control;  ///< what it is held against: `all_reduce (2 workers)`
  std::int64_t workers = 1;
  double boundary = 1;  ///< of the ratio
  std::size_t seeds = 0;
  double ratio = 1;                ///< geometric mean; the median where it is infinite at a seed
  std::optional<MeanRatio> pairs;  ///< with two seeds at least, all of them finite
  double p = 1;                    ///< that it is on its side by chance; by Mann-Whitney of the two
                                   ///< samples where it is infinite at a seed
  std::optional<RatioInterval> interval;  ///< of `ratio`, by decide()
  Side side = Side::Unclear;              ///< by decide()
};

/// The first's measure in terms of the other's. Seeds that one lacks are left out, and those at
/// which both are infinite: they tell nothing. Repeated runs of a seed count as their median.
RatioComparison compare_runs(const std::string& what, const Runs& first, const Runs& other,
                             const Measure& measure, double boundary);

/// Appends it unless no seed is in it.
void keep(std::vector<RatioComparison>& comparisons, RatioComparison one);

/// Sets intervals and sides, by all comparisons of a claim.
void decide(std::vector<RatioComparison>& comparisons);

/// `0.33 (0.32 to 0.35, 5 seeds)`; infinite ratios as `never`.
std::string ratio_text(const RatioComparison& comparison);

std::size_t count(std::span<const RatioComparison> comparisons, Side side);

/// On which side the claim is true.
Balance balance_of(std::span<const RatioComparison> comparisons, Side truth);

/// Nothing is decided unless most comparisons are.
ClaimVerdict verdict_on(const Balance& balance);

/// One field's answer to a claim in which chance plays no part.
struct Fact {
  bool holds = false;
  std::set<std::int64_t> workers;  ///< that were compared
  std::string text;
};

/// Sets verdict, reason and numbers. `needs` as below.
void conclude_facts(Claim& claim, const std::vector<Fact>& facts, const std::string& needs);

/// How a claim tells of its comparisons.
struct Account {
  std::string measure;  ///< a sentence: what the ratios are of, and where the boundary lies
  std::string above;    ///< of a comparison on that side: `Slower`
  std::string below;
  std::vector<std::string> more = {};  ///< lines after those of the comparisons
};

/// Decides the comparisons; sets verdict, reasons, numbers, and what is missing. `needs`: what runs
/// the claim wants, for one that has no comparison.
void conclude(Claim& claim, std::vector<RatioComparison> comparisons, Side truth,
              const Account& account, const std::string& needs);

}  // namespace regatta
