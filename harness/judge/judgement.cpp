// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/judge/cell_identity.h"
#include "harness/judge/cell_runs.h"
#include "harness/judge/first_place.h"
#include "harness/judge/loss_path.h"
#include "harness/system/number.h"
#include "workloads/workload.h"

namespace regatta::judge {
namespace {

constexpr double kMostOff = 0.1;         ///< relative deviation from the requested straggler factor
constexpr double kCeilingBeaten = 1.03;  // ratio of speeds; less is chance everywhere
constexpr double kNoisyRuns = 1.5;       // fastest over slowest run of one cell

bool is_race(const WorkloadJudgement& workload) {
  for (const CellJudgement& cell : workload.cells) {
    for (const record::Record* run : cell.runs) {
      const std::int64_t steps = run->step_time_ns.count;  // 0: not known
      if (run->status != record::Status::Missed || steps == 0 || steps >= kFewestSteps) return true;
    }
  }
  return false;
}

/// Whether the run consumed every example of its length, each at its step. Loops that step apart
/// need not, and a failed run did not.
bool consumes_all(const record::Record& run) {
  return run.status != record::Status::Failed && !run.step_examples &&
         !run.checksums.data_order.empty() && steps_together(run.cell.strategy);
}

/// Compares the checksums that runs of one seed and batch must share.
SameStart compare_starts(const WorkloadJudgement& workload) {
  struct Sums {
    std::set<std::string> weights, orders;
    std::int64_t runs = 0;
  };
  std::map<std::pair<std::uint64_t, std::int64_t>, Sums> by_seed;
  for (const CellJudgement& cell : workload.cells) {
    for (const record::Record* run : cell.runs) {
      if (run->checksums.initial_weights.empty()) continue;
      Sums& sums = by_seed[{run->cell.seed, run->cell.global_batch}];
      sums.weights.insert(run->checksums.initial_weights);
      if (consumes_all(*run)) sums.orders.insert(run->checksums.data_order);
      ++sums.runs;
    }
  }
  SameStart result;
  for (const auto& [key, sums] : by_seed) {
    if (sums.runs < 2) continue;
    ++result.compared;
    for (const auto& [what, found] : {std::pair("first weights differ", &sums.weights),
                                      std::pair("order of examples differs", &sums.orders)}) {
      if (found->size() < 2) continue;
      result.differs.push_back(fmt::format("seed {}: the {} between runs", key.first, what));
    }
  }
  return result;
}

/// Whether --straggler slowed a worker by another factor than requested.
bool misses_factor(const record::Record& run) {
  for (const record::WorkerRecord& worker : run.workers) {
    for (const record::Straggler& asked : run.cell.straggler) {
      if (asked.worker != worker.replica || !worker.straggler_factor) continue;
      if (std::abs(*worker.straggler_factor / asked.factor - 1) > kMostOff) return true;
    }
  }
  return false;
}

/// The fastest run's examples per second over the slowest's, of those that did not fail; else 1.
double spread_of(const CellJudgement& cell) {
  double slowest = kInfinity, fastest = 0;
  for (const record::Record* run : cell.runs) {
    if (run->status == record::Status::Failed || run->examples_per_s <= 0) continue;
    slowest = std::min(slowest, run->examples_per_s);
    fastest = std::max(fastest, run->examples_per_s);
  }
  return fastest > slowest ? fastest / slowest : 1;
}

/// Describes the cell that is fastest relative to replicas which exchange nothing, and by how much.
std::string beaten_ceiling(const WorkloadJudgement& workload) {
  std::string text;
  double most = kCeilingBeaten;
  for (const CellJudgement& ceiling : workload.cells) {
    if (ceiling.claims_time || !ceiling.seconds_per_example) continue;
    for (const CellJudgement& cell : workload.cells) {
      if (!cell.claims_time || !cell.seconds_per_example) continue;
      const double faster = ceiling.seconds_per_example->median / cell.seconds_per_example->median;
      const record::Record &first = *ceiling.runs.front(), &other = *cell.runs.front();
      if (faster <= most || work_key(first) != work_key(other)) continue;
      most = faster;
      text = fmt::format("{} was {:.0f} % faster than {}, which exchanges nothing; ",
                         other.cell.strategy, 100 * (faster - 1), first.cell.strategy);
    }
  }
  return text;
}

/// Warns where equal cells were not equally fast, with the load of other programs.
void warn_of_noise(const WorkloadJudgement& workload, std::vector<std::string>& warnings) {
  const std::string ceiling = beaten_ceiling(workload);
  const auto widest =
      std::max_element(workload.cells.begin(), workload.cells.end(),
                       [](const auto& a, const auto& b) { return spread_of(a) < spread_of(b); });
  if (ceiling.empty() && spread_of(*widest) < kNoisyRuns) return;
  std::optional<record::LoadRecord> load;
  for (const CellJudgement& cell : workload.cells) {
    for (const record::Record* run : cell.runs) {
      if (!run->load) continue;
      if (!load) load.emplace();
      load->before = std::max(load->before, run->load->before);
      load->after = std::max(load->after, run->load->after);
    }
  }
  const double spread = spread_of(*widest);
  warnings.push_back(fmt::format(
      "the machine was noisy: {}{}{}", ceiling,
      spread > 1 ? fmt::format("speeds of equal runs differ by up to {} ({})",
                               spread < 2 ? fmt::format("{:.0f} %", 100 * (spread - 1))
                                          : fmt::format("a factor of {:.0f}", spread),
                               widest->runs.front()->cell.strategy)
                 : "no two runs are equal",
      load ? fmt::format(", load of other programs up to {:.1f} before a run and {:.1f} after",
                         load->before, load->after)
           : ""));
}

std::vector<std::string> warnings_of(const WorkloadJudgement& workload) {
  std::set<std::string> commits, compilers;
  std::int64_t dirty = 0;
  std::int64_t oversubscribed = 0;
  std::int64_t shared_gpu = 0;
  std::int64_t off = 0;
  for (const CellJudgement& cell : workload.cells) {
    for (const record::Record* run : cell.runs) {
      commits.insert(run->software.git_commit.substr(0, 10));
      compilers.insert(run->software.compiler);
      dirty += run->software.dirty ? 1 : 0;
      oversubscribed += run->cell.oversubscribed ? 1 : 0;
      shared_gpu += run->cell.shared_gpu ? 1 : 0;
      off += misses_factor(*run) ? 1 : 0;
    }
  }
  std::vector<std::string> warnings;
  if (!workload.cells.front().runs.front()->simulated) warn_of_noise(workload, warnings);
  if (commits.size() > 1) {
    warnings.push_back(fmt::format("runs of {} commits stand side by side: {}", commits.size(),
                                   fmt::join(commits, ", ")));
  }
  if (compilers.size() > 1) {
    warnings.push_back(fmt::format("runs of {} builds stand side by side: {}", compilers.size(),
                                   fmt::join(compilers, "; ")));
  }
  if (dirty > 0) {
    warnings.push_back(
        fmt::format("{} runs are of sources that differed from their commit", dirty));
  }
  if (oversubscribed > 0) {
    warnings.push_back(fmt::format(
        "{} runs had more threads than cores (oversubscribed): their times do not compare with "
        "others",
        oversubscribed));
  }
  if (shared_gpu > 0) {
    warnings.push_back(fmt::format(
        "{} runs had several workers on one GPU (shared_gpu): they say nothing of scaling",
        shared_gpu));
  }
  if (off > 0) {
    warnings.push_back(fmt::format(
        "{} slowed a worker by another factor than --straggler asked for, by more than 10 %",
        system::plural(off, "run")));
  }
  return warnings;
}

/// Warns where the runs of a workload differ in the rule by which their number was chosen.
void warn_of_stopping(const std::vector<WorkloadJudgement>& workloads,
                      std::vector<std::string>& warnings) {
  std::vector<std::string> mixed;
  for (const WorkloadJudgement& workload : workloads) {
    std::set<bool> rules;
    for (const CellJudgement& cell : workload.cells) {
      for (const record::Record* run : cell.runs) rules.insert(run->round.has_value());
    }
    if (rules.size() > 1) mixed.push_back(workload.cells.front().runs.front()->cell.workload);
  }
  if (mixed.empty()) return;
  warnings.push_back(fmt::format(
      "{}: some runs are of a race until it was decided (--decide), others of a fixed number of "
      "seeds; all are judged by the test of --decide, which holds for both",
      fmt::join(mixed, ", ")));
}

/// Runs by workload, then by cell, in the order of the records.
using Groups = std::vector<std::vector<std::vector<const record::Record*>>>;

Groups grouped(std::span<const record::Record> records, std::vector<std::string>& warnings) {
  Groups groups;
  std::map<std::string, std::size_t> workloads;
  std::map<std::string, std::size_t> cells;
  std::set<std::string> seen;
  std::int64_t twice = 0;
  for (const record::Record& record : records) {
    if (!record.run_id.empty() && !seen.insert(record.run_id).second) {
      ++twice;
      continue;
    }
    const std::size_t workload =
        workloads.try_emplace(workload_key(record), groups.size()).first->second;
    if (workload == groups.size()) groups.emplace_back();
    auto& all = groups[workload];
    const std::size_t cell = cells.try_emplace(cell_key(record), all.size()).first->second;
    if (cell == all.size()) all.emplace_back();
    all[cell].push_back(&record);
  }
  if (twice > 0) {
    warnings.push_back(fmt::format("{} records are there more than once and count once", twice));
  }
  return groups;
}

}  // namespace

std::string_view to_string(Certainty certainty) {
  switch (certainty) {
    case Certainty::NotReached: return "not_reached";
    case Certainty::Alone: return "alone";
    case Certainty::Open: return "open";
    case Certainty::Level: return "level";
    case Certainty::Sure: return "sure";
  }
  return "unknown";
}

std::string_view to_string(Standing standing) {
  switch (standing) {
    case Standing::First: return "first";
    case Standing::Slower: return "slower";
    case Standing::Level: return "level";
    case Standing::Open: return "open";
    case Standing::Missed: return "missed";
    case Standing::NoClaim: return "no_claim";
  }
  return "unknown";
}

Judgement judge_races(std::span<const record::Record> records) {
  Judgement judgement;
  for (auto& cells : grouped(records, judgement.warnings)) {
    WorkloadJudgement workload;
    for (auto& runs : cells) workload.cells.push_back(judge_cell(std::move(runs)));
    rank(workload.cells);
    workload.same_start = compare_starts(workload);
    workload.warnings = warnings_of(workload);
    (is_race(workload) ? judgement.workloads : judgement.measurements)
        .push_back(std::move(workload));
  }
  warn_of_stopping(judgement.workloads, judgement.warnings);
  std::stable_partition(
      judgement.workloads.begin(), judgement.workloads.end(), [](const WorkloadJudgement& each) {
        const record::Record& run = *each.cells.front().runs.front();
        return workloads::shows_of(run.cell.workload) == workloads::Shows::Learning;
      });
  judge_first_places(judgement.workloads);
  return judgement;
}

Judgement judge(std::span<const record::Record> records, const std::string& folder) {
  Judgement judgement = judge_races(records);
  judgement.claims = judge_claims(records, folder);
  return judgement;
}

}  // namespace regatta::judge
