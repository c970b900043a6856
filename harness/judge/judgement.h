// SPDX-License-Identifier: Apache-2.0
//
// A report's numbers: for each workload its cells, ranked by the time to the target, each with the
// count of its runs that reached it, medians with their intervals, the parts of a step's time, and
// the traffic; and the certainty of the first place (first_place.h). Runs of one workload are
// compared where data set, target, length, stragglers and machine are equal; a run that missed its
// target or failed counts as infinitely slow.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/claims.h"
#include "harness/judge/matrix_notes.h"
#include "harness/judge/paired_ratio.h"
#include "harness/judge/statistics.h"
#include "harness/record/record.h"

namespace regatta {

/// The evaluations between which a run reached its target.
struct Crossing {
  std::optional<Evaluation> before;  ///< the last one before the target; empty if there is none
  Evaluation at;                     ///< the first at the target
  bool held = false;                 ///< whether all later ones were at the target, too
};

/// Finds the crossing of a run; empty for one that did not reach its target.
std::optional<Crossing> crossing_of(const Record& record);

/// Updates by the number of versions that they missed.
struct Staleness {
  std::vector<std::int64_t> histogram;  ///< element s: updates that missed s versions
  std::int64_t updates = 0;
  double mean = 0;
  std::int64_t max = 0;
};

/// The worker that arrives last at exchanges, by its mean over steps and runs.
struct LastWorker {
  std::string place;
  double late_seconds = 0;         ///< behind the first worker
  double uncertainty_seconds = 0;  ///< error of clocks compared across processes, either way
};

/// How long workers waited for others at a collective.
struct ExchangeWait {
  double mean_seconds = 0;
  double p99_seconds = 0;  ///< the largest of any worker and run
};

/// The parts of a push's time at servers, as means.
struct PushTimes {
  double barrier_seconds = 0;  ///< waiting for the pushes of others
  double queue_seconds = 0;
  double wire_seconds = 0;
};

/// An evaluation that all runs of a cell made at the same number of examples.
struct CurvePoint {
  std::int64_t examples = 0;
  double epoch = 0;
  double seconds = 0;  ///< training clock, median over runs
  double metric = 0;   ///< median over runs
  double low = 0;      ///< the lowest metric
  double high = 0;     ///< the highest
};

/// Parts of a worker's step, in the order of CellJudgement::step_seconds; they add up to the
/// training clock. The wait excludes the bubble; the last is the remainder.
inline constexpr std::array<std::string_view, 7> kStepParts = {
    "compute", "exposed_communication", "bubble", "wait", "input", "update", "between_kernels"};

/// A cell's place relative to the first of its workload.
enum class Standing {
  First,
  Slower,  ///< certainly
  Level,   ///< certainly within a difference that matters, either way
  Open,    ///< the runs do not decide
  Missed,  ///< missed the target in the median
  NoClaim,
};
/// Returns the JSON word: `first`, `slower`, ...
std::string_view to_string(Standing standing);

struct AgainstFirst {
  Standing standing = Standing::NoClaim;
  std::optional<PairedRatio> ratio;       ///< to the first's; empty where a run missed its target
  std::optional<RatioInterval> interval;  ///< of its time, by FirstPlace::confidence
  double p = 1;                           ///< two-sided, corrected over the page
};

/// The runs of one cell. Medians are empty where no run has the value.
struct CellJudgement {
  std::vector<const Record*> runs;  ///< the cell is that of the first; its seed is irrelevant
  bool claims_time = true;          ///< false for `independent`: replicas see a share of the data
  std::int64_t reached = 0;
  std::int64_t held = 0;  ///< number of those that stayed at the target
  std::int64_t failed = 0;
  std::optional<MedianInterval> seconds_to_target;         ///< training clock
  std::optional<MedianInterval> full_seconds_to_target;    ///< full clock
  std::optional<MedianInterval> result_seconds_to_target;  ///< result clock; over runs that have it
  std::optional<MedianInterval> seconds_before_target;  ///< at the evaluation before: the bracket
  std::optional<MedianInterval> examples_to_target;
  std::optional<MedianInterval> seconds_per_example;
  std::optional<MedianInterval> metric;  ///< of the last evaluation
  std::vector<CurvePoint> curve;         ///< over the runs that did not fail
  double typical_seconds = kInfinity;    ///< to the target: ranks cells (typical_seconds_of)
  AgainstFirst against_first;
  std::optional<double> times_single;  ///< speed relative to the fastest cell of `single`
  std::array<double, kStepParts.size()>
      step_seconds{};  ///< means over steps of all workers and runs
  double bytes_per_step_computed = 0;
  double bytes_per_step_counted = 0;          ///< median
  std::optional<LastWorker> last_worker;      ///< empty where arrivals are unknown
  std::optional<ExchangeWait> exchange_wait;  ///< empty without a collective
  std::optional<PushTimes> pushes;            ///< empty without a server
  Staleness staleness;
  std::int64_t updates_dropped = 0;
  std::int64_t lost_updates = 0;
};

/// Summarises the runs of one cell, at least one.
CellJudgement judge_cell(std::vector<const Record*> runs);

/// Certainty of a workload's first place, corrected over all comparisons of the page.
enum class Certainty {
  NotReached,  ///< no cell reached the target in the median
  Alone,       ///< no other cell to compare with
  TooFew,      ///< too few runs for any difference to show
  Open,        ///< the runs do not separate the first from some others
  Level,       ///< those others are within a difference that matters
  Close,       ///< the runs separate it from all others, by less than matters
  Sure,
};
/// Returns the JSON word: `not_reached`, `alone`, ...
std::string_view to_string(Certainty certainty);

/// The first cell of a ranking against the others.
struct FirstPlace {
  Certainty certainty = Certainty::NotReached;
  std::size_t group = 0;             ///< cells indistinguishable from the first, itself included
  std::optional<double> ahead;       ///< the second's time over the first's; may be infinite
  double confidence = 0;             ///< level of one interval, for 95 % of all together
  std::optional<double> detectable;  ///< the least difference that the group's runs would show
  std::optional<std::size_t> seeds;  ///< seeds that would decide, given the present spread
  bool coarse = false;               ///< more seeds would not decide: evaluations are too far apart
};

/// Whether all cells began with the same weights and saw the same examples in the same order.
struct SameStart {
  std::int64_t compared = 0;         ///< seeds that several cells ran
  std::vector<std::string> differs;  ///< a sentence for each difference
};

struct WorkloadJudgement {
  std::vector<CellJudgement> cells;  ///< the first to the target first; cells without a claim last
  FirstPlace first;
  SameStart same_start;
  std::vector<std::string> warnings;
  std::vector<WorkloadNotes> matrices;  ///< of the folders' matrices that include it
};

struct Judgement {
  /// Races, in the order of the records; workloads that show the cost of a step come last.
  std::vector<WorkloadJudgement> workloads;
  /// Runs too short for a speed, none of which reached its target: they counted or measured
  /// something. Claims use them; they have no first place.
  std::vector<WorkloadJudgement> measurements;
  std::vector<Claim> claims;  ///< all claims
  std::vector<std::string> warnings;
};

/// Judges records, to which the result points. A record that occurs twice, by its run_id, counts
/// once. `folder`: where the commands that decide claims add their runs.
Judgement judge(std::span<const Record> records, const std::string& folder = "out/claims");

struct SimulatedStudy;

/// Formats JSON for plots/, with the table of strategies, and with runs in virtual time apart.
/// Infinite numbers are null. Ends with a newline.
std::string to_json(const Judgement& judgement, std::span<const SimulatedStudy> simulated,
                    const std::vector<std::string>& folders);

}  // namespace regatta
