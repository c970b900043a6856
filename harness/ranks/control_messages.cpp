// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/control_messages.h"

#include <algorithm>

#include "harness/ranks/control_protocol.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr int kMostLoops = 1 << 16;  // of one process

void set_place(control::Place& message, const Place& place) {
  message.set_replica(place.replica);
  message.set_stage(place.stage);
  message.set_role(static_cast<int>(place.role));
}

Place place_in(const control::Place& message) {
  const int role = std::clamp(message.role(), 0, static_cast<int>(Role::Server));
  return {.replica = message.replica(), .stage = message.stage(), .role = static_cast<Role>(role)};
}

void set_spans(control::Spans& message, const SpanHistogram& spans) {
  message.set_sum(spans.sum());
  message.set_largest(spans.largest());
  const SpanHistogram::Counts& counts = spans.counts();
  const auto end = std::find_if(counts.rbegin(), counts.rend(), [](auto n) { return n > 0; });
  message.mutable_counts()->Add(counts.begin(), end.base());
}

SpanHistogram spans_in(const control::Spans& message) {
  SpanHistogram::Counts counts{};
  const auto size = std::min(counts.size(), static_cast<std::size_t>(message.counts_size()));
  std::copy_n(message.counts().begin(), size, counts.begin());
  return SpanHistogram::of(counts, std::max<std::int64_t>(0, message.sum()),
                           std::max<std::int64_t>(0, message.largest()));
}

void set_worker(control::Worker& message, const WorkerReport& worker) {
  set_place(*message.mutable_place(), worker.place);
  message.set_steps(worker.steps);
  message.set_compute_ns(worker.compute_ns);
  message.set_exposed_communication_ns(worker.exposed_communication_ns);
  message.set_wait_ns(worker.wait_ns);
  message.set_input_ns(worker.input_ns);
  message.set_update_ns(worker.update_ns);
  message.set_total_ns(worker.total_ns);
  message.set_updates_applied(worker.updates_applied);
  message.set_updates_dropped(worker.updates_dropped);
  message.mutable_staleness()->Add(worker.staleness.begin(), worker.staleness.end());
  set_spans(*message.mutable_age(), worker.age);
}

WorkerReport worker_in(const control::Worker& message) {
  WorkerReport worker;
  worker.place = place_in(message.place());
  worker.steps = message.steps();
  worker.compute_ns = message.compute_ns();
  worker.exposed_communication_ns = message.exposed_communication_ns();
  worker.wait_ns = message.wait_ns();
  worker.input_ns = message.input_ns();
  worker.update_ns = message.update_ns();
  worker.total_ns = message.total_ns();
  worker.updates_applied = message.updates_applied();
  worker.updates_dropped = message.updates_dropped();
  worker.staleness.assign(message.staleness().begin(), message.staleness().end());
  worker.age = spans_in(message.age());
  return worker;
}

void set_exchange_times(control::ExchangeTimes& message, const ExchangeTimes& times) {
  set_spans(*message.mutable_late(), times.late);
  message.set_late_uncertainty_ns(times.late_uncertainty_ns);
  set_spans(*message.mutable_wait(), times.wait);
  set_spans(*message.mutable_barrier(), times.barrier);
  set_spans(*message.mutable_queue(), times.queue);
  set_spans(*message.mutable_wire(), times.wire);
  if (times.pushes) message.set_pushes(*times.pushes);
}

ExchangeTimes exchange_times_in(const control::ExchangeTimes& message) {
  ExchangeTimes times;
  times.late = spans_in(message.late());
  times.late_uncertainty_ns = std::max<std::int64_t>(0, message.late_uncertainty_ns());
  times.wait = spans_in(message.wait());
  times.barrier = spans_in(message.barrier());
  times.queue = spans_in(message.queue());
  times.wire = spans_in(message.wire());
  if (message.has_pushes()) times.pushes = std::max<std::int64_t>(0, message.pushes());
  return times;
}

void set_clock(control::Clock& message, const ClockFacts& clock) {
  message.set_offset_ns(clock.offset_ns);
  message.set_drift_ppb(clock.drift_ppb);
  message.set_error_ns(clock.error_ns);
}

ClockFacts clock_in(const control::Clock& message) {
  return {.offset_ns = message.offset_ns(),
          .drift_ppb = message.drift_ppb(),
          .error_ns = std::max<std::int64_t>(0, message.error_ns())};
}

/// Elements [begin, end) of `values`, as far as there are so many.
template <typename T, typename Field>
void add_range(const std::vector<T>& values, std::size_t begin, std::size_t end, Field& field) {
  for (std::size_t k = begin; k < std::min(end, values.size()); ++k) field.Add(values[k]);
}

}  // namespace

void set_fingerprint(control::Join& join, const Fingerprint& fingerprint) {
  for (const auto& [name, value] : fingerprint) {
    control::Line& line = *join.add_fingerprint();
    line.set_name(name);
    line.set_value(value);
  }
}

Fingerprint fingerprint_in(const control::Join& join) {
  Fingerprint fingerprint;
  for (const control::Line& line : join.fingerprint()) {
    fingerprint.emplace_back(line.name(), line.value());
  }
  return fingerprint;
}

void send_pieces(VariableId id, const VariableCopy& copy,
                 const std::function<void(control::Piece)>& send) {
  const std::int64_t bytes = copy.tensor.type.bytes();
  for (std::int64_t offset = 0; offset < bytes; offset += kPieceBytes) {
    control::Piece piece;
    piece.set_variable(id);
    piece.set_offset(offset);
    piece.set_data(copy.tensor.as<char>() + offset,
                   static_cast<std::size_t>(std::min(kPieceBytes, bytes - offset)));
    piece.set_version(copy.version);
    send(std::move(piece));
  }
}

void set_positions(control::BeginAt& message, const Positions& positions) {
  message.set_steps(positions.steps);
  message.set_examples(positions.examples);
  for (const LoopPosition& position : positions.loops) {
    control::LoopPosition& loop = *message.add_loops();
    loop.set_number(position.number);
    loop.set_steps(position.steps);
    loop.set_last_examples(position.last_examples);
  }
}

Positions positions_in(const control::BeginAt& message) {
  Positions positions{.loops = {}, .steps = message.steps(), .examples = message.examples()};
  for (const control::LoopPosition& loop : message.loops()) {
    positions.loops.push_back(
        {.number = loop.number(), .steps = loop.steps(), .last_examples = loop.last_examples()});
  }
  return positions;
}

void send_report(const TrainingReport& report,
                 const std::function<void(const control::FromRank&)>& send) {
  constexpr auto kSteps = static_cast<std::size_t>(kPieceSteps);
  for (std::size_t i = 0; i < report.loops.size(); ++i) {
    const LoopHistory& loop = report.loops[i];
    for (std::size_t k = 0; k < loop.examples.size(); k += kSteps) {
      control::FromRank message;
      control::ReportPiece& piece = *message.mutable_report_piece();
      piece.set_loop(static_cast<int>(i));
      add_range(loop.step_ns, k, k + kSteps, *piece.mutable_step_ns());
      add_range(loop.losses, k, k + kSteps, *piece.mutable_losses());
      add_range(loop.examples, k, k + kSteps, *piece.mutable_examples());
      send(message);
    }
  }
  control::FromRank message;
  control::Report& last = *message.mutable_report();
  for (const auto& [rank, worker] : report.workers) set_worker(*last.add_workers(), worker);
  for (const auto& [place, traffic] : report.traffic) {
    control::Traffic& entry = *last.add_traffic();
    set_place(*entry.mutable_place(), place);
    entry.set_sent(traffic.sent);
    entry.set_received(traffic.received);
    entry.set_messages(traffic.messages);
  }
  for (const auto& [place, times] : report.exchange_times) {
    control::ExchangeTimes& entry = *last.add_exchange_times();
    set_place(*entry.mutable_place(), place);
    set_exchange_times(entry, times);
  }
  for (const LoopHistory& loop : report.loops) {
    last.add_shares_of_batch(loop.share_of_batch);
    last.add_loop_numbers(loop.number);
  }
  for (const auto& [node, choice] : report.kernels) {
    control::KernelChoice& entry = *last.add_kernels();
    entry.set_node(node);
    entry.set_choice(choice);
  }
  for (const auto& [rank, clock] : report.clocks) set_clock(*last.mutable_clock(), clock);
  last.set_lost_updates(report.lost_updates);
  last.set_planned_bytes(report.planned_bytes);
  last.set_peak_rss_bytes(report.peak_rss_bytes);
  send(message);
}

void ReportReader::take(const control::ReportPiece& piece) {
  if (piece.loop() < 0 || piece.loop() >= kMostLoops) return;
  const auto index = static_cast<std::size_t>(piece.loop());
  if (index >= loops_.size()) loops_.resize(index + 1);
  LoopHistory& loop = loops_[index];
  loop.step_ns.insert(loop.step_ns.end(), piece.step_ns().begin(), piece.step_ns().end());
  loop.losses.insert(loop.losses.end(), piece.losses().begin(), piece.losses().end());
  loop.examples.insert(loop.examples.end(), piece.examples().begin(), piece.examples().end());
}

TrainingReport ReportReader::finish(const control::Report& message, int rank) {
  TrainingReport report;
  for (const control::Worker& worker : message.workers()) {
    report.workers.push_back({.rank = rank, .report = worker_in(worker)});
  }
  for (const control::Traffic& entry : message.traffic()) {
    report.traffic[place_in(entry.place())] +=
        {.sent = entry.sent(), .received = entry.received(), .messages = entry.messages()};
  }
  for (const control::ExchangeTimes& entry : message.exchange_times()) {
    add(report.exchange_times[place_in(entry.place())], exchange_times_in(entry));
  }
  loops_.resize(std::min(loops_.size(), static_cast<std::size_t>(message.shares_of_batch_size())));
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const int at = static_cast<int>(i);
    loops_[i].share_of_batch = message.shares_of_batch(at);
    if (at < message.loop_numbers_size()) loops_[i].number = message.loop_numbers(at);
    const std::size_t steps = std::min(loops_[i].losses.size(), loops_[i].examples.size());
    loops_[i].losses.resize(steps);
    loops_[i].examples.resize(steps);
  }
  report.loops = std::move(loops_);
  for (const control::KernelChoice& entry : message.kernels()) {
    report.kernels.insert({.node = entry.node(), .choice = entry.choice()});
  }
  if (message.has_clock()) report.clocks[rank] = clock_in(message.clock());
  report.lost_updates = message.lost_updates();
  report.planned_bytes = message.planned_bytes();
  report.peak_rss_bytes = message.peak_rss_bytes();
  return report;
}

ErrorKind kind_of(const control::Trouble& trouble) {
  for (ErrorKind kind : {ErrorKind::Usage, ErrorKind::Data, ErrorKind::Diverged, ErrorKind::Timeout,
                         ErrorKind::Unsupported, ErrorKind::Io, ErrorKind::Device}) {
    if (trouble.kind() == to_string(kind)) return kind;
  }
  return ErrorKind::PeerLost;
}

}  // namespace regatta
