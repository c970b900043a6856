// SPDX-License-Identifier: Apache-2.0
//
// Records dealt into what may be compared, and comparisons of two contestants seed by seed: a seed
// is the same first weights and the same data in the same order, and a matrix runs its cells of one
// seed after another, so the ratio within a seed is freer of chance than two samples are.
//
// A comparison has a boundary: the ratio on whose sides the claim is true and false. It is decided
// when the order-statistic interval of the ratios' median lies on one side: for 3 to 5 seeds that
// is all of them. Below 5 seeds the two samples must lie apart as well, not only their pairs; below
// 3 nothing is decided.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/claims.h"
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

/// As the strategy table has it, of single strategies; compositions are in no claim.
bool is_synchronous(const Contestant& contestant);
/// Without a bound on staleness.
bool is_asynchronous(const Contestant& contestant);

/// Equal in workers, threads, straggler and whether they share cores, whatever the strategy.
bool same_resources(const Contestant& a, const Contestant& b);

using Measure = std::function<std::optional<double>(const Record&)>;
/// Units: examples/s; nothing of a failed run and of one of very few steps.
std::optional<double> speed(const Record& record);
/// False for a run that a crash or a lost peer ended: it says nothing about learning.
bool is_told(const Record& record);
std::optional<double> examples_to_target(const Record& record);  ///< infinite when not reached
std::optional<double> seconds_to_target(const Record& record);   ///< of the training clock

enum class Side { Above, Below, Unclear };

struct RatioComparison {
  std::string what;            ///< such as `in_graph on resnet9_thin`
  double boundary = 1;         ///< of the ratio
  std::vector<double> ratios;  ///< one a seed, in the order of seeds
  MedianInterval interval;     ///< of the ratios; meaningless without one
  Side side = Side::Unclear;
  bool apart = false;  ///< all of one sample from all of the other, times the boundary
  double p = 1;        ///< Mann-Whitney of the first against the other times the boundary
};

/// The first's measure in terms of the other's. Seeds that one lacks are left out, and those at
/// which both are infinite: they tell nothing. Repeated runs of a seed count as their median.
RatioComparison compare_runs(const std::string& what, const Runs& first, const Runs& other,
                             const Measure& measure, double boundary);

/// Appends it unless no seed is in it.
void keep(std::vector<RatioComparison>& comparisons, RatioComparison one);

/// `0.33 (0.32 to 0.35, 5 seeds)`; infinite ratios as `never`.
std::string ratio_text(const RatioComparison& comparison);

std::size_t count(std::span<const RatioComparison> comparisons, Side side);

/// What a claim says of its comparisons.
struct Says {
  enum class Of {
    All,  ///< holds when more than half are on the true side and none on the other
    Some  ///< holds when one is on the true side; does not when all are on the other
  } of = Of::All;
  Side truth = Side::Above;
};
ClaimVerdict verdict_on(std::span<const RatioComparison> comparisons, Says says);

/// How a claim tells of its comparisons.
struct Account {
  std::string measure;  ///< a sentence: what the ratios are of, and where the boundary lies
  std::string above;    ///< of a comparison on that side: `Slower`
  std::string below;
  std::vector<std::string> more = {};  ///< lines after those of the comparisons
};

/// Sets verdict, reasons with how sure they are, numbers, and what is missing. How sure:
/// Mann-Whitney with Holm's correction over all comparisons of the claim; of examples and
/// counterexamples the clearest counts, of what holds for all the least clear. `needs`: what runs
/// the claim wants, for one that has no comparison.
void conclude(Claim& claim, std::span<const RatioComparison> comparisons, Says says,
              const Account& account, const std::string& needs);

}  // namespace regatta
