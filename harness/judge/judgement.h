// SPDX-License-Identifier: Apache-2.0
//
// What a report says, as numbers: for each workload its cells, ranked by the time to the target,
// each with how many of its runs reached it, medians with their intervals, where a step's time
// went, and what travelled; and how sure the first place is (first_place.h). Runs of one workload
// are held against each other where data set, target, length, stragglers and machine are the same;
// a run that missed its target or failed counts as infinitely slow.
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

/// Between which evaluations a run came to its target.
struct Crossing {
  std::optional<Evaluation> before;  ///< the last that was not there; empty: the very first was
  Evaluation at;                     ///< the first that was
  bool held = false;                 ///< and so were all that came after
};

/// Nothing for a run that did not reach it.
std::optional<Crossing> crossing_of(const Record& record);

/// Updates by how many versions they missed.
struct Staleness {
  std::vector<std::int64_t> histogram;  ///< element s: updates that missed s versions
  std::int64_t updates = 0;
  double mean = 0;
  std::int64_t max = 0;
};

/// The worker that came last to exchanges, by its mean over steps and runs.
struct LastWorker {
  std::string place;
  double late_seconds = 0;         ///< behind the first
  double uncertainty_seconds = 0;  ///< of clocks that were compared over processes, either way
};

/// How long workers waited for others at a collective.
struct ExchangeWait {
  double mean_seconds = 0;
  double p99_seconds = 0;  ///< the largest of a worker and a run
};

/// Where the pushes of workers spent their time at servers, means.
struct PushTimes {
  double barrier_seconds = 0;  ///< for the pushes of others
  double queue_seconds = 0;
  double wire_seconds = 0;
};

/// An evaluation that all runs of a cell made, after as many examples each.
struct CurvePoint {
  std::int64_t examples = 0;
  double epoch = 0;
  double seconds = 0;  ///< training clock, median over runs
  double metric = 0;   ///< median over runs
  double low = 0;      ///< the lowest metric
  double high = 0;     ///< the highest
};

/// Parts of a worker's step, in the order of CellJudgement::step_seconds; they add up to the
/// training clock. The wait is without the bubble, the last is what no other part has.
inline constexpr std::array<std::string_view, 7> kStepParts = {
    "compute", "exposed_communication", "bubble", "wait", "input", "update", "between_kernels"};

/// How a cell stands to the first of its workload.
enum class Standing {
  First,
  Slower,  ///< surely
  Level,   ///< surely by less than a difference that matters, either way
  Open,    ///< the runs do not tell
  Missed,  ///< the target, in the median
  NoClaim,
};
/// `first`, `slower`, ...
std::string_view to_string(Standing standing);

struct AgainstFirst {
  Standing standing = Standing::NoClaim;
  std::optional<PairedRatio> ratio;       ///< to the first's; empty where a run missed its target
  std::optional<RatioInterval> interval;  ///< of its time, by FirstPlace::confidence
  double p = 1;                           ///< two-sided, corrected over the page
};

/// The runs of one cell. Medians are empty where no run tells them.
struct CellJudgement {
  std::vector<const Record*> runs;  ///< the cell is that of the first; its seed means nothing
  bool claims_time = true;          ///< not of `independent`: its replicas see a share of the data
  std::int64_t reached = 0;
  std::int64_t held = 0;  ///< of those that reached it, stayed there
  std::int64_t failed = 0;
  std::optional<MedianInterval> seconds_to_target;         ///< training clock
  std::optional<MedianInterval> full_seconds_to_target;    ///< full clock
  std::optional<MedianInterval> result_seconds_to_target;  ///< result clock; of runs that have it
  std::optional<MedianInterval> seconds_before_target;  ///< of the evaluation before: the bracket
  std::optional<MedianInterval> examples_to_target;
  std::optional<MedianInterval> seconds_per_example;
  std::optional<MedianInterval> metric;  ///< of the last evaluation
  std::vector<CurvePoint> curve;         ///< over the runs that did not fail
  double typical_seconds = kInfinity;    ///< to the target: ranks cells (typical_seconds_of)
  AgainstFirst against_first;
  std::optional<double> times_single;  ///< as fast as the fastest cell of `single`
  std::array<double, kStepParts.size()>
      step_seconds{};  ///< means over steps of all workers and runs
  double bytes_per_step_computed = 0;
  double bytes_per_step_counted = 0;          ///< median
  std::optional<LastWorker> last_worker;      ///< empty where arrivals are not known
  std::optional<ExchangeWait> exchange_wait;  ///< empty without a collective
  std::optional<PushTimes> pushes;            ///< empty without a server
  Staleness staleness;
  std::int64_t updates_dropped = 0;
  std::int64_t lost_updates = 0;
};

/// Of runs of one cell, of which there is one at least.
CellJudgement judge_cell(std::vector<const Record*> runs);

/// How sure the first place of a workload is, over all comparisons of the page.
enum class Certainty {
  NotReached,  ///< by no cell in the median
  Alone,       ///< no other cell to compare with
  TooFew,      ///< runs for any difference to show
  Open,        ///< the runs do not tell the first from some others
  Level,       ///< those others take less than a difference that matters more or less
  Close,       ///< the runs tell it from all others, but the difference is smaller than that
  Sure,
};
/// `not_reached`, `alone`, ...
std::string_view to_string(Certainty certainty);

/// The first cell of a ranking against the others.
struct FirstPlace {
  Certainty certainty = Certainty::NotReached;
  std::size_t group = 0;        ///< cells from the first on that it is not told from, itself too
  std::optional<double> ahead;  ///< the second's time over the first's; may be infinite
  double confidence = 0;        ///< of the intervals of one comparison, for 95 % of all
  std::optional<double> detectable;  ///< the least difference that the runs of the group would show
  std::optional<std::size_t> seeds;  ///< that would tell, by the spread of these
  bool coarse = false;               ///< more seeds would not: evaluations are too far apart
};

/// Whether all cells began from the same weights and saw the same examples in the same order.
struct SameStart {
  std::int64_t compared = 0;         ///< seeds that several cells have run
  std::vector<std::string> differs;  ///< a sentence for each that is not the same
};

struct WorkloadJudgement {
  std::vector<CellJudgement> cells;  ///< the first to the target first, those without a claim last
  FirstPlace first;
  SameStart same_start;
  std::vector<std::string> warnings;
  std::vector<WorkloadNotes> matrices;  ///< of the folders' matrices that race it
};

struct Judgement {
  /// Races, in the order of the records; those that show the cost of a step come last.
  std::vector<WorkloadJudgement> workloads;
  /// Of runs that were made to count or to measure something: of so few steps that they tell no
  /// speed, and none of which reached its target. Claims use them; nothing is said of who is first.
  std::vector<WorkloadJudgement> measurements;
  std::vector<Claim> claims;  ///< that are taught, all of them
  std::vector<std::string> warnings;
};

/// The result points into `records`. A record that is there twice, by its run_id, counts once.
/// `folder`: where the commands that decide claims add their runs.
Judgement judge(std::span<const Record> records, const std::string& folder = "out/claims");

struct SimulatedStudy;

/// As JSON for plots/, with the table of strategies and what runs in virtual time say apart;
/// infinite numbers are null. Ends with a newline.
std::string to_json(const Judgement& judgement, std::span<const SimulatedStudy> simulated,
                    const std::vector<std::string>& folders);

}  // namespace regatta
