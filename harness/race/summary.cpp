// SPDX-License-Identifier: Apache-2.0
#include "harness/race/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <set>

#include "harness/record/record_fields.h"
#include "harness/run/assemble.h"
#include "harness/run/merge_reports.h"
#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/collective_messages.h"

namespace regatta::race {
namespace {

constexpr std::size_t kLossSamples = 400;
constexpr std::size_t kFirstSamples = 16;

record::StepTimes step_times(const std::vector<run::LoopHistory>& loops) {
  std::vector<std::int64_t> times;
  for (const run::LoopHistory& loop : loops) {
    times.insert(times.end(), loop.step_ns.begin(), loop.step_ns.end());
  }
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double q) {
    return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))];
  };
  return {.count = static_cast<std::int64_t>(times.size()),
          .min = times.front(),
          .p50 = quantile(0.5),
          .p90 = quantile(0.9),
          .p99 = quantile(0.99),
          .max = times.back()};
}

/// Examples per step, from the counts applied before each step and after the last completed one.
record::StepExamples step_examples(const std::vector<run::LoopHistory>& loops,
                                   std::int64_t applied) {
  std::vector<std::int64_t> counts = run::beginnings(loops);
  while (!counts.empty() && counts.back() >= applied) counts.pop_back();  // not completed
  counts.push_back(applied);
  std::adjacent_difference(counts.begin(), counts.end(), counts.begin());
  counts.erase(counts.begin());
  if (counts.empty()) return {};
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  return {.count = std::ssize(counts), .sum = applied, .min = *least, .max = *most};
}

/// Training losses in the order of examples seen. A loop's loss covers only its share of the batch,
/// so it is scaled up. At most kLossSamples are kept, evenly spread, besides the first
/// kFirstSamples, by which two runs of one seed are compared (loss_path.h).
std::vector<record::LossSample> loss_samples(const std::vector<run::LoopHistory>& loops) {
  std::vector<record::LossSample> all;
  for (const run::LoopHistory& loop : loops) {
    for (std::size_t k = 0; k < loop.losses.size(); ++k) {
      all.push_back({.examples = loop.examples[k],
                     .loss = static_cast<double>(loop.losses[k]) / loop.share_of_batch});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.examples < b.examples; });
  const std::size_t stride = all.size() / kLossSamples + 1;
  std::vector<record::LossSample> samples;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i >= kFirstSamples && i % stride != 0) continue;
    if (std::isfinite(all[i].loss)) samples.push_back(all[i]);
  }
  return samples;
}

std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// Returns the record of spans; empty if there were none.
std::optional<record::SpanRecord> span_record(const SpanHistogram& spans) {
  if (spans.count() == 0) return std::nullopt;
  return record::SpanRecord{.count = spans.count(),
                            .sum = spans.sum(),
                            .p50 = spans.quantile(0.5),
                            .p99 = spans.quantile(0.99),
                            .max = spans.largest()};
}

/// Returns the record of pushes; empty for a place to which no worker pushes.
std::optional<record::PushRecord> push_record(const comm::ExchangeTimes& times) {
  if (times.queue.count() == 0) return std::nullopt;
  return record::PushRecord{.barrier_ns = span_record(times.barrier).value_or(record::SpanRecord{}),
                            .queue_ns = *span_record(times.queue),
                            .wire_ns = *span_record(times.wire)};
}

template <typename T>
T at_place(const std::map<Place, T>& all, const Place& place) {
  const auto found = all.find(place);
  return found == all.end() ? T{} : found->second;
}

/// The torus's sides; empty for any other algorithm.
std::optional<std::string> torus_text(const CollectiveShape& shape) {
  if (!is_torus(shape.algorithm)) return std::nullopt;
  const TorusShape sides = torus_shape(shape);
  return fmt::format("{}x{}", sides.columns, sides.rows);
}

/// The all_reduces in the order of their groups, from each group's member 0, which is in one part.
std::vector<record::SumRecord> all_reduces_of(const std::vector<Step>& parts) {
  std::map<std::int64_t, record::SumRecord> by_group;
  for (const Step& part : parts) {
    for (const Node& node : part.graph.nodes()) {
      if (node.op != Op::AllReduce || node.member != 0) continue;
      const CollectiveShape shape = collective_shape(part.graph, node);
      by_group[shape.group] = {
          .algorithm = std::string(is_torus(shape.algorithm) ? kTorus : shape.algorithm),
          .torus = torus_text(shape),
          .members = shape.members,
          .between = node.attributes.has("between") ? std::optional(node.attributes.text("between"))
                                                    : std::nullopt,
          .bytes = shape.elements * shape.element_bytes};
    }
  }
  std::vector<record::SumRecord> all;
  for (auto& [group, sum] : by_group) all.push_back(std::move(sum));
  return all;
}

/// The largest server's bytes of parameters relative to the mean; empty without servers.
std::optional<double> shard_imbalance(const std::vector<Step>& parts) {
  std::map<int, std::int64_t> bytes;  // by number of the server
  for (const Step& part : parts) {
    for (const Variable& variable : part.graph.variables()) {
      if (variable.place.role != Role::Server) continue;
      if (variable.kind != VariableKind::Parameter) continue;
      bytes[variable.place.stage] += variable.type.bytes();
    }
  }
  std::int64_t largest = 0;
  std::int64_t sum = 0;
  for (const auto& [server, held] : bytes) {
    largest = std::max(largest, held);
    sum += held;
  }
  if (sum == 0) return std::nullopt;
  return static_cast<double>(largest) * static_cast<double>(bytes.size()) /
         static_cast<double>(sum);
}

/// The counts up to the last that is not zero.
std::vector<std::int64_t> trimmed(const std::vector<std::uint64_t>& counts) {
  std::size_t size = counts.size();
  while (size > 0 && counts[size - 1] == 0) --size;
  return {counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(size)};
}

/// Returns the uncertainty of lateness; empty if none was measured.
std::optional<std::int64_t> late_uncertainty_ns(const comm::ExchangeTimes& times) {
  if (times.late.count() == 0) return std::nullopt;
  return times.late_uncertainty_ns;
}

/// The slowdown of a straggler; empty for a worker without delay.
std::optional<double> straggler_factor(const WorkerReport& worker) {
  if (worker.delay_ns == 0) return std::nullopt;
  return static_cast<double>(worker.compute_ns) /
         static_cast<double>(std::max<std::int64_t>(1, worker.compute_ns - worker.delay_ns));
}

struct Updates {
  std::int64_t applied = 0;
  std::int64_t dropped = 0;
};

/// Updates by replica, as counted by the first server; empty without backup workers.
std::map<int, Updates> updates_with_backup(const std::vector<run::RankedWorker>& workers) {
  std::map<int, Updates> result;
  for (const auto& [rank, worker] : workers) {
    const bool decides = worker.place.role == Role::Server && worker.place.stage == 0;
    if (!decides || worker.updates_applied + worker.updates_dropped == 0) continue;
    result[worker.place.replica] = {.applied = worker.updates_applied,
                                    .dropped = worker.updates_dropped};
  }
  return result;
}

/// Copies the fields that `part` and `measured` have under the same name.
template <typename Part, typename Measured>
void assign_equal_names(Part& part, const Measured& measured) {
  for_each_pair(part, measured, [](auto& to, const auto& from, auto...) { to = from; });
}

}  // namespace

void summarize(const run::TrainingReport& report, std::int64_t examples, record::Record& record) {
  std::int64_t sent = 0;
  for (const auto& [place, traffic] : report.traffic) sent += traffic.sent;
  std::uint64_t consumed = 0;
  for (const auto& [rank, worker] : report.workers) consumed += worker.data_order;
  if (examples > 0) record.checksums.data_order = hexadecimal(consumed);
  const double batches =
      static_cast<double>(examples) / static_cast<double>(record.cell.global_batch);
  if (batches > 0) record.graph.bytes_per_step_counted = static_cast<double>(sent) / batches;
  const std::map<int, Updates> backed = updates_with_backup(report.workers);
  for (const auto& [rank, worker] : report.workers) {
    const MemberTraffic bytes = at_place(report.traffic, worker.place);
    const comm::ExchangeTimes times = at_place(report.exchange_times, worker.place);
    const auto counted = backed.find(worker.place.replica);
    const Updates updates = counted != backed.end()
                                ? counted->second
                                : Updates{.applied = worker.place.role == Role::Peer
                                                         ? 0
                                                         : times.pushes.value_or(worker.steps)};
    record::WorkerRecord& told = record.workers.emplace_back(
        record::WorkerRecord{.rank = rank,
                             .place = to_string(worker.place),
                             .replica = worker.place.replica,
                             .straggler_factor = straggler_factor(worker),
                             .bytes_sent = bytes.sent,
                             .bytes_received = bytes.received,
                             .staleness_histogram = trimmed(worker.staleness),
                             .age_ns = span_record(worker.age),
                             .late_ns = span_record(times.late),
                             .late_uncertainty_ns = late_uncertainty_ns(times),
                             .exchange_wait_ns = span_record(times.wait),
                             .pushes = push_record(times)});
    assign_equal_names(told, worker);
    told.updates_applied = updates.applied;
    told.updates_dropped = updates.dropped;
  }
  for (const auto& [rank, clock] : report.clocks) {
    assign_equal_names(record.clocks.emplace_back(record::ClockRecord{.rank = rank}), clock);
  }
  record.kernels.assign(report.kernels.begin(), report.kernels.end());
  record.lost_updates = report.lost_updates;
  record.lost_processes = report.lost_processes;
  record.step_time_ns = step_times(report.loops);
  if (!backed.empty()) record.step_examples = step_examples(report.loops, examples);
  record.losses = loss_samples(report.loops);
}

record::GraphRecord graph_record(const std::vector<Step>& parts, std::int64_t steps) {
  record::GraphRecord record;
  std::int64_t sent = 0;
  for (const Step& part : parts) {
    const auto nodes = static_cast<std::int64_t>(part.graph.nodes().size());
    record.nodes += nodes;
    record.nodes_per_process.push_back(nodes);
    sent += bytes_sent_by_all(part, steps);
  }
  record.bytes_per_step_computed = static_cast<double>(sent) / static_cast<double>(steps);
  record.models = parts.front().partition.models;
  record.shard_imbalance = shard_imbalance(parts);
  record.all_reduces = all_reduces_of(parts);
  return record;
}

std::string checksum_of_weights(run::Trainer& trainer) {
  const std::vector<run::VariableCopy> copies = trainer.variables(run::Copies::ForEvaluation);
  std::set<std::string> parameters;
  for (const auto& [variable, tensor, version, model] : copies) {
    if (variable.kind == VariableKind::Parameter) parameters.insert(variable.judged_name());
  }
  std::uint64_t weights = fnv1a("");
  for (const std::string& name : parameters) {
    const std::vector<float> whole = run::assemble(copies, name).front();  // of replica 0, or home
    weights = fnv1a(whole.data(), whole.size() * sizeof whole[0], weights);
  }
  return hexadecimal(weights);
}

void check_replicas_agree(run::Trainer& trainer, const plan::Placement& placement) {
  const strategies::Exchange exchange = strategies::exchange_of(placement.strategies);
  if (exchange != strategies::Exchange::Synchronous && exchange != strategies::Exchange::Compressed)
    return;
  std::map<std::string, Tensor> first;
  for (const auto& [variable, tensor, version, model] : trainer.variables(run::Copies::All)) {
    if (variable.kind != VariableKind::Parameter) continue;
    const auto [entry, is_new] = first.try_emplace(variable.name, tensor);
    if (is_new) continue;
    const auto bytes = static_cast<std::size_t>(tensor.type.bytes());
    if (std::memcmp(entry->second.data, tensor.data, bytes) != 0) {
      throw RunError(ErrorKind::Diverged, "after a synchronous run the replicas differ in " +
                                              variable.name + " (" + to_string(variable.place) +
                                              "); this is a bug, please report it");
    }
  }
}

}  // namespace regatta::race
