// SPDX-License-Identifier: Apache-2.0
//
// Claims on speed: which workers wait for which, and how close a strategy comes to the ceiling.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/claim_list.h"

namespace regatta::judge {
namespace {

constexpr double kFully = 0.9;      ///< of the ceiling
constexpr double kPoorly = 0.7;     ///< of the ceiling
constexpr double kToldApart = 1.2;  ///< the least ratio of losing a share to waiting

double compute_ns_of_a_step(const record::WorkerRecord& worker) {
  return static_cast<double>(worker.compute_ns) / static_cast<double>(worker.steps);
}

/// A worker's compute time per step relative to that of the other workers of its run.
std::optional<double> times_others(const record::Record& record, std::int64_t replica) {
  std::vector<double> own, others;
  for (const record::WorkerRecord& worker : record.workers) {
    if (worker.steps == 0 || worker.compute_ns == 0) continue;
    (worker.replica == replica ? own : others).push_back(compute_ns_of_a_step(worker));
  }
  if (own.empty() || others.empty()) return std::nullopt;
  return median_interval(own).median / median_interval(others).median;
}

/// Its compute time with delays relative to that without; empty in older records.
std::optional<double> factor_of(const record::Record& record, std::int64_t replica) {
  for (const record::WorkerRecord& worker : record.workers) {
    if (worker.replica == replica && worker.straggler_factor) return worker.straggler_factor;
  }
  return std::nullopt;
}

/// The share of its speed that a run keeps when each step waits for one worker with its compute
/// time multiplied: T / (T + (times - 1) c) for the step's time T and that worker's compute time c.
std::optional<double> kept_by_waiting(const record::Record& plain, std::int64_t replica,
                                      double times) {
  const std::string place = "replica" + std::to_string(replica);
  const auto worker = std::find_if(plain.workers.begin(), plain.workers.end(),
                                   [&](const auto& each) { return each.place == place; });
  if (worker == plain.workers.end() || worker->steps == 0 || !speed(plain)) return std::nullopt;
  const double step_ns = static_cast<double>(plain.cell.global_batch) / plain.examples_per_s * 1e9;
  return step_ns / (step_ns + (times - 1) * compute_ns_of_a_step(*worker));
}

/// The median over the runs of a statistic of one worker.
template <typename Value, typename... More>
std::optional<double> median_over(const Runs& runs, Value value, More... more) {
  std::vector<double> all;
  for (const record::Record* run : runs) {
    if (const std::optional<double> one = value(*run, more...)) all.push_back(*one);
  }
  if (all.empty()) return std::nullopt;
  return median_interval(all).median;
}

bool has_replicas(const Contestant& contestant) {
  return contestant.workers > 1 && contestant.stages == 1 &&
         contestant.strategy != "model_parallel" && !is_unusual(contestant, "backup_workers");
}

/// Compares with `independent` on the same resources. That is no ceiling with a slow worker,
/// because its replicas take equal numbers of steps.
std::vector<RatioComparison> of_ceiling(std::span<const Field> fields, double boundary,
                                        bool (*wanted)(const Contestant&)) {
  std::vector<RatioComparison> comparisons;
  for (const Field& field : fields) {
    for (const auto& [contestant, runs] : field.runs) {
      if (!wanted(contestant) || contestant.oversubscribed || contestant.workers < 2) continue;
      if (!contestant.straggler.empty()) continue;
      const auto* ceiling = counterpart(field, contestant, "independent");
      if (ceiling == nullptr) continue;
      keep(comparisons,
           compare_runs(label(contestant, field), runs, ceiling->second, speed, boundary));
    }
  }
  return comparisons;
}

/// Lists by field the percentage of the workers' time spent on waiting and on uncovered transfers.
std::vector<std::string> idle_shares(std::span<const Field> fields, const std::string& strategy) {
  std::vector<std::string> lines;
  for (const Field& field : fields) {
    double wait = 0;
    double transfer = 0;
    double all = 0;
    for (const auto& [contestant, runs] : field.runs) {
      if (contestant.strategy != strategy || contestant.oversubscribed) continue;
      for (const record::Record* run : runs) {
        for (const record::WorkerRecord& worker : run->workers) {
          wait += static_cast<double>(worker.wait_ns);
          transfer += static_cast<double>(worker.exposed_communication_ns);
          all += static_cast<double>(worker.compute_ns + worker.exposed_communication_ns +
                                     worker.wait_ns + worker.input_ns + worker.update_ns);
        }
      }
    }
    if (all == 0) continue;
    lines.push_back(fmt::format(
        "on {} its workers wait {:.0f} % of their time, and transfers that nothing hides take "
        "{:.1f} %",
        field.name, 100 * wait / all, 100 * transfer / all));
  }
  return lines;
}

}  // namespace

Claim waits_for_slowest(std::span<const Field> fields) {
  Claim claim{.name = "waits_for_slowest",
              .taught = "Synchronous training waits for the slowest worker in every step.",
              .figure = "straggler"};
  std::vector<RatioComparison> comparisons;
  for (const Field& field : fields) {
    for (const auto& [contestant, runs] : field.runs) {
      const std::vector<record::Straggler>& stragglers = runs.front()->cell.straggler;
      if (stragglers.size() != 1 || !is_synchronous(contestant) || !has_replicas(contestant))
        continue;
      Contestant plain = contestant;
      plain.straggler.clear();
      const auto found = field.runs.find(plain);
      if (found == field.runs.end() || contestant.oversubscribed) continue;
      // Delays slow computing itself, and workers may differ even without them.
      const std::int64_t slow = stragglers.front().worker;
      const auto beside = median_over(runs, times_others, slow);
      const auto before = median_over(found->second, times_others, slow);
      if (!beside || !before) continue;
      const double times = *beside / *before;
      const auto waiting = median_over(found->second, kept_by_waiting, slow, times);
      if (!waiting) continue;
      const auto workers = static_cast<double>(contestant.workers);
      const double losing = (workers - 1 + *waiting) / workers;
      if (losing < kToldApart * *waiting) continue;  // compute is too small a part of the step
      std::string what = fmt::format("{} [waiting {:.2f}, not {:.2f}; {:.2f} times as slow",
                                     label(contestant, field), *waiting, losing, times);
      if (const auto factor = median_over(runs, factor_of, slow))
        what += fmt::format(", by a measured factor of {:.2f}", *factor);
      what += ']';
      keep(comparisons,
           compare_runs(what, runs, found->second, speed, std::sqrt(*waiting * losing)));
    }
  }
  conclude(claim, std::move(comparisons), Side::Below,
           {.measure = "What each keeps of its speed without the slow worker; in brackets what it "
                       "would keep if it waited for that worker, and if it lost only its share, by "
                       "how much more slowly it computed beside the others of its run.",
            .above = "does not wait",
            .below = "waits"},
           "runs of a synchronous strategy with and without a straggler whose compute is a "
           "large enough part of the step");
  return claim;
}

Claim asynchronous_uses_hardware(std::span<const Field> fields) {
  Claim claim{.name = "asynchronous_uses_hardware",
              .taught = "Asynchronous training uses the hardware fully: no worker waits.",
              .figure = "scaling"};
  auto comparisons = of_ceiling(fields, kFully, is_asynchronous);
  conclude(claim, std::move(comparisons), Side::Above,
           {.measure = fmt::format("Speed in terms of independent with the same workers, where "
                                   "fully means above {}.",
                                   kFully),
            .above = "fully",
            .below = "not fully"},
           "asynchronous strategy beside independent with the same workers");
  return claim;
}

Claim model_parallel_scales_poorly(std::span<const Field> fields) {
  Claim claim{
      .name = "model_parallel_scales_poorly",
      .taught = "Model parallelism without pipelining scales poorly: a stage waits for the others.",
      .figure = "scaling"};
  auto comparisons = of_ceiling(fields, kPoorly, [](const Contestant& contestant) {
    return contestant.strategy == "model_parallel";
  });
  conclude(claim, std::move(comparisons), Side::Below,
           {.measure = fmt::format("Speed in terms of independent with the same workers, where "
                                   "poor means below {}.",
                                   kPoorly),
            .above = "not poor",
            .below = "poor",
            .more = idle_shares(fields, "model_parallel")},
           "model_parallel beside independent with the same workers");
  return claim;
}

}  // namespace regatta::judge
