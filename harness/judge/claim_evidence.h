// SPDX-License-Identifier: Apache-2.0
//
// Groups records into comparable fields and compares two contestants seed by seed, by
// paired_ratio.h.
//
// A comparison has a boundary: the ratio that separates true from false. It is decided when the
// interval of the ratio lies on one side of it. All comparisons of a claim together are wrong in at
// most 5 % of cases, of which each has an equal share (Bonferroni).
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

/// One line of a figure: a cell without its seed and the fields that every compared run shares.
struct Contestant {
  std::string strategy;
  OptionValues options;  ///< of the strategy, where they differ from the defaults
  std::int64_t workers = 1;
  std::int64_t stages = 1;
  std::int64_t processes = 1;
  std::int64_t threads_per_worker = 1;
  bool oversubscribed = false;  ///< true also if workers share a GPU: speeds are not comparable
  std::string straggler;        ///< `1:3`, empty for none
  double rate_scale = 1;        ///< may differ between compared contestants
  auto operator<=>(const Contestant&) const = default;
};

/// Whether an option of the strategy differs from its default.
bool is_unusual(const Contestant& contestant, std::string_view option);

/// The contestant's non-default options that `strategy` also declares.
OptionValues options_under(const std::string& strategy, const Contestant& contestant);

using Runs = std::vector<const Record*>;

/// Comparable runs: they agree in everything but the contestant.
struct Field {
  std::string name;  ///< the workload, then any settings in which its fields differ
  std::map<Contestant, Runs> runs;
};

/// Groups records in order of first appearance. Runs that lost a process are left out.
std::vector<Field> fields_of(std::span<const Record> records);

/// Looks up a single strategy in the strategy table. Compositions other than with compression
/// belong to no claim.
bool is_synchronous(const Contestant& contestant);
/// False for a strategy with a bound on staleness.
bool is_asynchronous(const Contestant& contestant);

/// The contestant with an exchange in every step; empty if it has that already.
std::optional<Contestant> exchanging_always(Contestant contestant);
/// Whether a later strategy of the composition compresses the exchange.
bool is_compressed(const Contestant& contestant);

/// Formats a contestant: `diloco (2 workers, sync_every=16)`.
std::string text_of(const Contestant& contestant);

/// Whether workers, threads, straggler and sharing of cores are equal, whatever the strategy.
bool same_resources(const Contestant& a, const Contestant& b);

/// A value measured in a run. A value seen at an evaluation arose between that and the one before.
struct Measured {
  double value = 0;
  double least = 0;

  Measured(double known) : value(known), least(known) {}  // NOLINT: a number is one
  Measured(double seen, double before) : value(seen), least(before) {}
};
using Measure = std::function<std::optional<Measured>(const Record&)>;
/// Units: examples/s; empty for a failed run and for one of very few steps.
std::optional<double> speed(const Record& record);
/// False for a run that a crash or a lost peer ended: it is no evidence about learning.
bool is_told(const Record& record);
std::optional<Measured> examples_to_target(const Record& record);  ///< infinite when not reached
std::optional<Measured> seconds_to_target(const Record& record);   ///< of the training clock

enum class Side { Above, Below, Unclear };

struct RatioComparison {
  std::string what;     ///< such as `in_graph on resnet9_thin`
  std::string control;  ///< the other side of the comparison: `all_reduce (2 workers)`
  std::int64_t workers = 1;
  double boundary = 1;  ///< of the ratio
  std::size_t seeds = 0;
  double ratio = 1;                ///< geometric mean; the median where it is infinite at a seed
  std::optional<MeanRatio> pairs;  ///< with two seeds at least, all of them finite
  double p = 1;                    ///< probability of this side by chance; by Mann-Whitney if the
                                   ///< ratio is infinite at a seed
  std::optional<RatioInterval> interval;  ///< of `ratio`, by decide()
  Side side = Side::Unclear;              ///< by decide()
};

/// Compares the ratio of the first's measure to the other's, seed by seed. Seeds that one side
/// lacks are left out, and seeds at which both are infinite. Repeated runs of a seed count as their
/// median.
RatioComparison compare_runs(const std::string& what, const Runs& first, const Runs& other,
                             const Measure& measure, double boundary);

/// Appends `one` if it has any seeds.
void keep(std::vector<RatioComparison>& comparisons, RatioComparison one);

/// Sets intervals and sides, corrected over all comparisons of a claim.
void decide(std::vector<RatioComparison>& comparisons);

/// Formats a ratio: `0.33 (0.32 to 0.35, 5 seeds)`; an infinite one as `never`.
std::string ratio_text(const RatioComparison& comparison);

std::size_t count(std::span<const RatioComparison> comparisons, Side side);

/// Counts comparisons for and against a claim that is true on side `truth`.
Balance balance_of(std::span<const RatioComparison> comparisons, Side truth);

/// Decides only if most comparisons are decided.
ClaimVerdict verdict_on(const Balance& balance);

/// The answer of one field to a claim that chance does not affect.
struct Fact {
  bool holds = false;
  std::set<std::int64_t> workers;  ///< the worker counts that were compared
  std::string text;
};

/// Sets verdict, reason and numbers. `needs`: as for conclude().
void conclude_facts(Claim& claim, const std::vector<Fact>& facts, const std::string& needs);

/// The words in which a claim reports its comparisons.
struct Account {
  std::string measure;  ///< a sentence: the quantities of the ratios, and the boundary
  std::string above;    ///< name of that side: `Slower`
  std::string below;
  std::vector<std::string> more = {};  ///< lines after those of the comparisons
};

/// Decides the comparisons; sets verdict, reasons, numbers and missing runs. `needs`: the runs that
/// a claim without any comparison requires.
void conclude(Claim& claim, std::vector<RatioComparison> comparisons, Side truth,
              const Account& account, const std::string& needs);

}  // namespace regatta
