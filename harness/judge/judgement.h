// SPDX-License-Identifier: Apache-2.0
//
// Computes the numbers of a report. Each workload has its cells, ranked by the time to the target,
// and the certainty of the first place (first_place.h). Each cell has the number of runs that
// reached the target, medians with their intervals, the parts of a step's time, and the traffic.
// Runs of one workload are compared only if data set, target, length, stragglers and machine are
// equal; a run that failed or missed its target counts as infinitely slow.
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

namespace regatta::judge {

/// The evaluations between which a run reached its target.
struct Crossing {
  std::optional<record::Evaluation> before;  ///< the one that precedes `at`; empty if there is none
  record::Evaluation at;                     ///< the first that met the target
  bool held = false;                         ///< all later evaluations met the target, too
};

/// Finds the evaluations at which a run crossed its target; empty if it did not reach it.
std::optional<Crossing> crossing_of(const record::Record& record);

/// Staleness of updates: the number of versions of the parameters between read and update.
struct Staleness {
  std::vector<std::int64_t> histogram;  ///< element s: updates that missed s versions
  std::int64_t updates = 0;
  double mean = 0;
  std::int64_t max = 0;
};

/// The worker with the largest mean lateness at exchanges, over all steps and runs.
struct LastWorker {
  std::string place;
  double late_seconds = 0;         ///< mean time after the first worker's arrival
  double uncertainty_seconds = 0;  ///< bound on the error of clocks compared across processes
};

/// Time that workers waited for others at a collective.
struct ExchangeWait {
  double mean_seconds = 0;
  double p99_seconds = 0;  ///< the largest p99 of any worker and run
};

/// Mean times of pushed gradients at servers.
struct PushTimes {
  double barrier_seconds = 0;  ///< from the first worker's complete push of a step to the last's
  double queue_seconds = 0;    ///< from a push's arrival until the server takes it
  double wire_seconds = 0;     ///< from a push's first chunk to its last
};

/// An evaluation that all runs of a cell made at the same number of examples.
struct CurvePoint {
  std::int64_t examples = 0;
  double epoch = 0;
  double seconds = 0;  ///< on the training clock, median over runs
  double metric = 0;   ///< median over runs
  double low = 0;      ///< the lowest metric of any run
  double high = 0;     ///< the highest metric of any run
};

/// Names of the parts of a worker's step, in the order of CellJudgement::step_seconds. The parts
/// add up to the training clock: `wait` excludes the bubble, `between_kernels` is the remainder.
inline constexpr std::array<std::string_view, 7> kStepParts = {
    "compute", "exposed_communication", "bubble", "wait", "input", "update", "between_kernels"};

/// A cell's standing relative to the first cell of its workload.
enum class Standing {
  First,
  Slower,   ///< significantly slower
  Level,    ///< significantly within the smallest difference that matters; with --decide: its
            ///< interval is as narrow as asked
  Open,     ///< too few runs to decide
  Missed,   ///< its median run missed the target
  NoClaim,  ///< its time to the target does not count (claims_target)
};
/// Returns the JSON word: `first`, `slower`, ...
std::string_view to_string(Standing standing);

/// A cell compared with the first cell of its workload.
struct AgainstFirst {
  Standing standing = Standing::NoClaim;
  std::optional<PairedRatio> ratio;       ///< empty if a run missed its target
  std::optional<RatioInterval> interval;  ///< interval of `ratio`'s time
  double p = 1;                           ///< two-sided, corrected over the whole report
};

/// A cell that a matrix with `--decide` raced no further, because its place was decided.
struct LeftOut {
  std::int64_t round = 0;  ///< its last
  Standing standing = Standing::Slower;
};

/// The rounds of a workload that a matrix with `--decide` raced.
struct RoundsOfRace {
  std::int64_t rounds = 0;  ///< the last round
  double precision = 0;     ///< record::Round::precision
  bool is_decided = false;  ///< no cell's standing is open
};

/// A cell compared with `single`.
struct AgainstSingle {
  double time = 1;                        ///< geometric mean over seeds; 1 for `single` itself
  std::optional<RatioInterval> interval;  ///< empty if there are too few pairs
};

/// The runs of one cell. Medians are empty where no run has the value.
struct CellJudgement {
  std::vector<const record::Record*> runs;  ///< the runs, each with its own seed
  bool claims_time = true;                  ///< false for `independent`, see claims_target()
  std::int64_t reached = 0;                 ///< runs that reached the target
  std::int64_t held = 0;                    ///< runs that also met it at all later evaluations
  std::int64_t failed = 0;
  std::optional<MedianInterval> seconds_to_target;         ///< on the training clock
  std::optional<MedianInterval> full_seconds_to_target;    ///< on the full clock
  std::optional<MedianInterval> result_seconds_to_target;  ///< on the result clock, if recorded
  std::optional<MedianInterval> examples_to_target;
  std::optional<MedianInterval> seconds_per_example;
  std::optional<std::int64_t> tokens_per_example;  ///< empty: examples are not sequences
  std::optional<MedianInterval> mfu;               ///< model FLOPs utilisation
  std::optional<MedianInterval> metric;            ///< at the last evaluation
  std::optional<MedianInterval> bits_per_byte;     ///< at the last evaluation
  std::vector<CurvePoint> curve;                   ///< from the runs that did not fail
  double typical_seconds = kInfinity;              ///< geometric mean to the target; ranks cells
  AgainstFirst against_first;
  std::optional<LeftOut> left_out;
  std::optional<AgainstSingle> against_single;  ///< empty without `single`, or if a run missed
  /// Mean seconds of each of kStepParts, over the steps of all workers and runs.
  std::array<double, kStepParts.size()> step_seconds{};
  double bytes_per_step_computed = 0;         ///< from the graph
  double bytes_per_step_counted = 0;          ///< at the transports, median over the runs
  std::optional<LastWorker> last_worker;      ///< empty where arrivals are unknown
  std::optional<ExchangeWait> exchange_wait;  ///< empty without a collective
  std::optional<PushTimes> pushes;            ///< empty without a server
  Staleness staleness;
  std::int64_t updates_dropped = 0;  ///< late pushes that were dropped, with backup workers
  std::int64_t lost_updates = 0;     ///< updates overwritten by others
};

/// Computes the numbers of one cell from its runs, of which there must be at least one.
CellJudgement judge_cell(std::vector<const record::Record*> runs);

/// Certainty of a workload's first place, corrected over all comparisons of the report.
enum class Certainty {
  NotReached,  ///< no cell's median run reached the target
  Alone,       ///< there is no other cell to compare with
  Open,        ///< the runs do not decide whether some cells are slower
  Level,       ///< each other cell is slower, or level with the first
  Sure,        ///< all others are slower
};
/// Returns the JSON word: `not_reached`, `alone`, ...
std::string_view to_string(Certainty certainty);

/// Whether all cells started from the same weights and consumed the same examples in the same
/// order.
struct SameStart {
  std::int64_t compared = 0;         ///< number of seeds that several cells ran
  std::vector<std::string> differs;  ///< a sentence for each difference
};

struct WorkloadJudgement {
  std::vector<CellJudgement> cells;  ///< the fastest to the target first; `independent` last
  Certainty certainty = Certainty::NotReached;
  std::optional<RoundsOfRace> rounds;  ///< empty if the number of runs was fixed before the race
  SameStart same_start;
  std::vector<std::string> warnings;
  std::vector<WorkloadNotes> matrices;  ///< notes of the matrices that include this workload
};

struct Judgement {
  /// Workloads with a race to a target, in the order of the records; workloads that show only the
  /// cost of a step come last.
  std::vector<WorkloadJudgement> workloads;
  /// Workloads whose runs only count bytes or nodes: all are too short for a speed and missed their
  /// target. Claims use them; they have no first place.
  std::vector<WorkloadJudgement> measurements;
  /// Workloads of runs in virtual time, which are compared only on the same cluster.
  std::vector<WorkloadJudgement> virtual_time;
  std::vector<Claim> claims;
  std::vector<std::string> warnings;
};

/// Judges `records`, which must outlive the result, without claims.
Judgement judge_races(std::span<const record::Record> records);

/// Judges `records`, which must outlive the result. Records with the same run_id count once.
/// `folder` is the folder to which the commands in Claim::missing add runs.
Judgement judge(std::span<const record::Record> records, const std::string& folder = "out/claims");

/// Formats the judgement as JSON for plots/, with the table of strategies. Infinite numbers are
/// null. Ends with a newline.
std::string to_json(const Judgement& judgement, const std::vector<std::string>& folders);

}  // namespace regatta::judge
