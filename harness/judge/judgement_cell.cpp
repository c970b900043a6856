// SPDX-License-Identifier: Apache-2.0
//
// The numbers of one cell from its runs: the half of judge() that looks at one cell.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/judge/cell_runs.h"
#include "harness/judge/judgement.h"

namespace regatta::judge {
namespace {

constexpr double kNs = 1e-9;

using Sample = std::vector<double>;
using Number = std::optional<double>;

template <typename Value>
std::optional<MedianInterval> median_over(const CellJudgement& cell, const Value& value) {
  Sample sample;
  for (const record::Record* run : cell.runs) {
    if (const std::optional<double> number = value(*run)) sample.push_back(*number);
  }
  if (sample.empty()) return std::nullopt;
  return median_interval(sample);
}

double scaled(const std::optional<std::int64_t>& value, double unit) {
  return value ? static_cast<double>(*value) * unit : kInfinity;
}

/// The geometric mean of times to the target, because ratios of cells are ratios of such means; the
/// median if a run missed the target.
double typical_seconds_of(const std::vector<const record::Record*>& runs) {
  Sample sample;
  double logarithms = 0;
  for (const record::Record* run : runs) {
    sample.push_back(scaled(run->training_time_to_target_ns, kNs));
    logarithms += std::log(sample.back());
  }
  const double mean = std::exp(logarithms / static_cast<double>(runs.size()));
  return std::isfinite(mean) ? mean : median_interval(sample).median;
}

void measure_target(CellJudgement& cell) {
  for (const record::Record* run : cell.runs) {
    if (run->status == record::Status::Reached) ++cell.reached;
    if (run->status == record::Status::Failed) ++cell.failed;
    if (const auto crossing = crossing_of(*run); crossing && crossing->held) ++cell.held;
  }
  if (!cell.claims_time) return;
  cell.typical_seconds = typical_seconds_of(cell.runs);
  cell.seconds_to_target = median_over(cell, [](const record::Record& run) -> Number {
    return scaled(run.training_time_to_target_ns, kNs);
  });
  cell.full_seconds_to_target = median_over(cell, [](const record::Record& run) -> Number {
    return scaled(run.full_time_to_target_ns, kNs);
  });
  cell.result_seconds_to_target = median_over(cell, [](const record::Record& run) -> Number {
    const bool unknown = run.training_time_to_target_ns && !run.result_time_to_target_ns;
    return unknown ? Number() : scaled(run.result_time_to_target_ns, kNs);
  });
  cell.examples_to_target = median_over(
      cell, [](const record::Record& run) -> Number { return scaled(run.examples_to_target, 1); });
}

void measure_speed(CellJudgement& cell) {
  cell.seconds_per_example = median_over(cell, [](const record::Record& run) -> Number {
    if (run.status == record::Status::Failed || run.examples_per_s <= 0) return std::nullopt;
    return 1 / run.examples_per_s;
  });
  cell.tokens_per_example = cell.runs.front()->tokens_per_example;
  cell.mfu = median_over(cell, [](const record::Record& run) -> Number {
    if (run.status == record::Status::Failed || !run.utilization) return std::nullopt;
    return run.utilization->mfu;
  });
  cell.metric = median_over(cell, [](const record::Record& run) -> Number {
    if (run.status == record::Status::Failed || run.evaluations.empty()) return std::nullopt;
    return run.evaluations.back().metric;
  });
  cell.bits_per_byte = median_over(cell, [](const record::Record& run) -> Number {
    return run.status == record::Status::Failed ? std::nullopt : run.bits_per_byte;
  });
}

/// Adds points at the example counts at which every run that did not fail was evaluated.
void trace_curve(CellJudgement& cell) {
  std::map<std::int64_t, std::vector<const record::Evaluation*>> points;
  std::size_t whole = 0;
  for (const record::Record* run : cell.runs) {
    if (run->status == record::Status::Failed) continue;
    ++whole;
    for (const record::Evaluation& each : run->evaluations) points[each.examples].push_back(&each);
  }
  for (const auto& [examples, evaluations] : points) {
    if (evaluations.size() != whole) continue;
    Sample seconds, metrics;
    for (const record::Evaluation* each : evaluations) {
      seconds.push_back(static_cast<double>(each->training_time_ns) * kNs);
      metrics.push_back(each->metric);
    }
    const auto [low, high] = std::minmax_element(metrics.begin(), metrics.end());
    cell.curve.push_back({.examples = examples,
                          .epoch = evaluations.front()->epoch,
                          .seconds = median_interval(seconds).median,
                          .metric = median_interval(metrics).median,
                          .low = *low,
                          .high = *high});
  }
}

/// False for servers, peers and the host of central_storage: they only wait for workers.
bool computes(const record::WorkerRecord& worker) {
  const bool serves = worker.place.starts_with("server") || worker.place.starts_with("peer");
  return !serves && worker.place != "host";
}

/// Divides the worker's training clock by purpose.
std::array<std::int64_t, kStepParts.size()> parts_of(const record::WorkerRecord& worker,
                                                     std::int64_t training_ns) {
  const std::int64_t known = worker.compute_ns + worker.exposed_communication_ns + worker.wait_ns +
                             worker.input_ns + worker.update_ns;
  return {worker.compute_ns,
          worker.exposed_communication_ns,
          worker.bubble_ns,
          worker.wait_ns - worker.bubble_ns,
          worker.input_ns,
          worker.update_ns,
          std::max<std::int64_t>(training_ns - known, 0)};
}

/// Sums over the workers of all runs.
void measure_workers(CellJudgement& cell) {
  std::int64_t steps = 0;
  double missed = 0;
  for (const record::Record* run : cell.runs) {
    cell.lost_updates += run->lost_updates;
    for (const record::WorkerRecord& worker : run->workers) {
      const auto parts = parts_of(worker, run->training_ns);
      if (computes(worker)) steps += worker.steps;
      for (std::size_t i = 0; i < parts.size() && computes(worker); ++i) {
        cell.step_seconds[i] += static_cast<double>(parts[i]) * kNs;
      }
      cell.updates_dropped += worker.updates_dropped;
      auto& histogram = cell.staleness.histogram;
      histogram.resize(std::max(histogram.size(), worker.staleness_histogram.size()));
      for (std::size_t s = 0; s < worker.staleness_histogram.size(); ++s) {
        const std::int64_t updates = worker.staleness_histogram[s];
        histogram[s] += updates;
        cell.staleness.updates += updates;
        missed += static_cast<double>(updates) * static_cast<double>(s);
        if (updates > 0) {
          cell.staleness.max = std::max(cell.staleness.max, static_cast<std::int64_t>(s));
        }
      }
    }
  }
  for (double& part : cell.step_seconds)
    part /= static_cast<double>(std::max<std::int64_t>(1, steps));
  if (cell.staleness.updates > 0) {
    cell.staleness.mean = missed / static_cast<double>(cell.staleness.updates);
  }
}

/// The summed spans of several runs and places.
struct Spans {
  std::int64_t count = 0;
  std::int64_t sum = 0;

  void add(const record::SpanRecord& one) {
    count += one.count;
    sum += one.sum;
  }
  double mean_seconds() const {
    return kNs * static_cast<double>(sum) / static_cast<double>(std::max<std::int64_t>(1, count));
  }
};

void measure_arrivals(CellJudgement& cell) {
  std::map<std::string, Spans> late;
  std::int64_t uncertainty = 0;
  std::int64_t p99 = 0;
  Spans waited;
  Spans barrier, queue, wire;
  for (const record::Record* run : cell.runs) {
    for (const record::WorkerRecord& worker : run->workers) {
      if (worker.late_ns) late[worker.place].add(*worker.late_ns);
      uncertainty = std::max(uncertainty, worker.late_uncertainty_ns.value_or(0));
      if (worker.exchange_wait_ns) {
        waited.add(*worker.exchange_wait_ns);
        p99 = std::max(p99, worker.exchange_wait_ns->p99);
      }
      if (!worker.pushes) continue;
      barrier.add(worker.pushes->barrier_ns);
      queue.add(worker.pushes->queue_ns);
      wire.add(worker.pushes->wire_ns);
    }
  }
  for (const auto& [place, spans] : late) {
    const double seconds = spans.mean_seconds();
    if (cell.last_worker && seconds <= cell.last_worker->late_seconds) continue;
    cell.last_worker = {.place = place,
                        .late_seconds = seconds,
                        .uncertainty_seconds = kNs * static_cast<double>(uncertainty)};
  }
  if (waited.count > 0) {
    cell.exchange_wait = {.mean_seconds = waited.mean_seconds(),
                          .p99_seconds = kNs * static_cast<double>(p99)};
  }
  if (wire.count > 0) {
    cell.pushes = {.barrier_seconds = barrier.mean_seconds(),
                   .queue_seconds = queue.mean_seconds(),
                   .wire_seconds = wire.mean_seconds()};
  }
}

void measure_bytes(CellJudgement& cell) {
  Sample counted;
  for (const record::Record* run : cell.runs) {
    cell.bytes_per_step_computed = std::max(
        cell.bytes_per_step_computed, static_cast<double>(run->graph.bytes_per_step_computed));
    if (run->status != record::Status::Failed) counted.push_back(run->graph.bytes_per_step_counted);
  }
  if (!counted.empty()) cell.bytes_per_step_counted = median_interval(counted).median;
}

}  // namespace

std::optional<Crossing> crossing_of(const record::Record& record) {
  if (record.status != record::Status::Reached) return std::nullopt;
  const bool lower = record.target.metric == "loss";
  const auto there = [&](const record::Evaluation& each) {
    return lower ? each.metric <= record.target.value : each.metric >= record.target.value;
  };
  const auto& all = record.evaluations;
  const auto at = std::find_if(all.begin(), all.end(), there);
  if (at == all.end()) return std::nullopt;
  Crossing crossing{.at = *at, .held = std::all_of(at, all.end(), there)};
  if (at != all.begin()) crossing.before = *(at - 1);
  return crossing;
}

CellJudgement judge_cell(std::vector<const record::Record*> runs) {
  const record::Record& record = *runs.front();
  CellJudgement cell{.runs = std::move(runs), .claims_time = claims_target(record)};
  measure_target(cell);
  measure_speed(cell);
  trace_curve(cell);
  measure_workers(cell);
  measure_arrivals(cell);
  measure_bytes(cell);
  return cell;
}

}  // namespace regatta::judge
