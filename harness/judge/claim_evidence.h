// SPDX-License-Identifier: Apache-2.0
//
// Groups records into fields of comparable runs, and compares two contestants of a field seed by
// seed (paired_ratio.h).
//
// Each comparison has a boundary, the ratio at which a claim turns from true to false. The
// comparison is decided when the confidence interval of its ratio lies on one side of the boundary.
// The probability that any comparison of a claim is decided wrongly is at most 5 %: each comparison
// is tested at 5 % divided by their number (Bonferroni).
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
#include "harness/judge/sample_ratio.h"
#include "harness/judge/statistics.h"
#include "harness/record/record.h"

namespace regatta::judge {

/// The settings in which the runs of a Field may differ, such as the strategy and the number of
/// workers: one line of a figure. The seed is not one of them.
struct Contestant {
  std::string strategy;
  OptionValues options;  ///< the strategy's options that differ from their defaults
  std::int64_t workers = 1;
  std::int64_t stages = 1;
  std::int64_t processes = 1;
  std::int64_t threads_per_worker = 1;
  bool oversubscribed = false;  ///< too few cores, or workers share a GPU: no comparable speed
  std::string straggler;        ///< in the syntax of --straggler, `1:3`; empty: none
  double rate_scale = 1;        ///< factor on the learning rate; may differ between compared runs
  auto operator<=>(const Contestant&) const = default;
};

/// Whether the contestant's value of `option` differs from the default.
bool is_unusual(const Contestant& contestant, std::string_view option);

/// Returns the contestant's non-default options that `strategy` declares, too.
OptionValues options_under(const std::string& strategy, const Contestant& contestant);

using Runs = std::vector<const record::Record*>;

/// Runs that may be compared: they differ only in the contestant and the seed, not in any other
/// setting, the machine, the compiler or the commit.
struct Field {
  std::string name;  ///< the workload, then the settings in which the workload's fields differ
  std::map<Contestant, Runs> runs;
};

/// Groups records into fields, in order of first appearance. Runs that lost a process are left out.
std::vector<Field> fields_of(std::span<const record::Record> records);

/// Whether the strategy table lists the contestant's strategy as synchronous. False for a
/// composition.
bool is_synchronous(const Contestant& contestant);
/// Whether the strategy table lists the contestant's strategy as asynchronous and no staleness
/// bound is set. False for a composition.
bool is_asynchronous(const Contestant& contestant);

/// Returns the contestant with `sync_every` set to 1. Empty if it is 1 already, or if the strategy
/// does not exchange periodically.
std::optional<Contestant> exchanging_always(Contestant contestant);
/// Whether the contestant is a composition whose last strategy compresses the exchange.
bool is_compressed(const Contestant& contestant);

/// Formats a contestant: `diloco (2 workers, sync_every=16)`.
std::string text_of(const Contestant& contestant);

/// Whether both have the same number of workers, threads per worker, stragglers and
/// oversubscription, whatever their strategies.
bool same_resources(const Contestant& a, const Contestant& b);

/// A value measured in a run. It has bounds if only evaluations show it: the examples to the target
/// lie between those of two successive evaluations.
struct Measured {
  double value = 0;  ///< at the later evaluation: the upper bound
  double least = 0;  ///< at the earlier one: the lower bound; equal to `value` if exact

  Measured(double known) : value(known), least(known) {}  // NOLINT: a number is one
  Measured(double seen, double before) : value(seen), least(before) {}
};
using Measure = std::function<std::optional<Measured>(const record::Record&)>;

/// Returns the run's speed; empty if it failed or has fewer than kFewestSteps steps.
/// Units: examples/s.
std::optional<double> speed(const record::Record& record);
/// Whether the run counts as evidence about learning: it completed, or it failed by diverging. A
/// run that crashed or lost a peer does not count.
bool is_told(const record::Record& record);
std::optional<Measured> examples_to_target(
    const record::Record& record);                                        ///< infinite: not reached
std::optional<Measured> seconds_to_target(const record::Record& record);  ///< on the training clock

/// The side of the boundary on which a ratio lies.
enum class Side { Above, Below, Unclear };

/// The ratio of one contestant's measure to that of its control.
struct RatioComparison {
  std::string what;     ///< the contestant: `in_graph on resnet9_thin`
  std::string control;  ///< the contestant it is compared with: `all_reduce (2 workers)`
  std::int64_t workers = 1;
  double boundary = 1;    ///< the ratio at which the claim turns false
  std::size_t seeds = 0;  ///< number of seeds that both sides ran
  double ratio = 1;       ///< geometric mean over the seeds; their median if `pairs` is empty
  std::optional<MeanRatio> pairs;  ///< empty with one seed, or if a seed's ratio is 0 or infinite
  TwoSamples samples = {};         ///< their values, for Mann-Whitney's test without `pairs`
  std::optional<RatioInterval> interval;  ///< interval of the test that decides; set by decide()
  Side side = Side::Unclear;  ///< side of `boundary` with the whole interval; set by decide()
};

/// Divides the measure of `first` by that of `other`, seed by seed, and compares the ratio with
/// `boundary`. Seeds that one side lacks, or at which both measures are infinite, are left out. If
/// a seed has several runs, their median is used.
RatioComparison compare_runs(const std::string& what, const Runs& first, const Runs& other,
                             const Measure& measure, double boundary);

/// Appends `one` to `comparisons` if it has at least one seed.
void keep(std::vector<RatioComparison>& comparisons, RatioComparison one);

/// Sets `interval` and `side` of all comparisons of one claim. The level of each interval is
/// corrected for their number.
void decide(std::vector<RatioComparison>& comparisons);

/// Formats the ratio with its interval: `0.33 (0.32 to 0.35, 5 seeds)`; an infinite ratio is
/// `never`.
std::string ratio_text(const RatioComparison& comparison);

std::size_t count(std::span<const RatioComparison> comparisons, Side side);

/// Counts the comparisons for and against a claim that is true if the ratio is on side `truth`.
Balance balance_of(std::span<const RatioComparison> comparisons, Side truth);

/// Returns Undecided unless most comparisons are decided; otherwise Mixed if they disagree, or else
/// the verdict on which they agree.
ClaimVerdict verdict_on(const Balance& balance);

/// One field's evidence for a claim about counts, such as bytes, which are equal in every run.
struct Fact {
  bool holds = false;
  std::set<std::int64_t> workers;  ///< the numbers of workers that were compared
  std::string text;                ///< the counts, as a sentence for Claim::numbers
};

/// Sets the claim's verdict, reason and numbers from `facts`. `needs` describes the runs that the
/// claim requires, for the message if there are no facts.
void conclude_facts(Claim& claim, const std::vector<Fact>& facts, const std::string& needs);

/// Texts for the report of a claim's comparisons.
struct Wording {
  std::string measure;                 ///< a sentence on the quantity compared and the boundary
  std::string above;                   ///< label of ratios above the boundary: `not slower`
  std::string below;                   ///< label of ratios below the boundary: `slower`
  std::vector<std::string> more = {};  ///< further lines for Claim::numbers
};

/// Decides the comparisons and sets the claim's verdict, reason, numbers and missing seeds. The
/// claim is true if ratios are on side `truth`. `needs` describes the runs that the claim requires,
/// for the message if there are no comparisons.
void conclude(Claim& claim, std::vector<RatioComparison> comparisons, Side truth,
              const Wording& wording, const std::string& needs);

}  // namespace regatta::judge
