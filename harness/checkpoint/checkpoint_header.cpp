// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/checkpoint_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace regatta {
namespace {

using Json = nlohmann::ordered_json;
using Count = std::optional<std::int64_t>;

Json to_json(const Count& count) { return count ? Json(*count) : Json(nullptr); }

Count count_in(const Json& json) {
  return json.is_null() ? Count() : Count(json.get<std::int64_t>());
}

Json to_json(const Extent& extent) { return {extent.offset, extent.size}; }

Extent extent_in(const Json& json) {
  return {.offset = json.at(0).get<std::uint64_t>(), .size = json.at(1).get<std::uint64_t>()};
}

Json to_json(const Place& place) {
  return {place.replica, place.stage, static_cast<int>(place.role)};
}

Place place_in(const Json& json) {
  return {.replica = json.at(0).get<int>(),
          .stage = json.at(1).get<int>(),
          .role = static_cast<Role>(json.at(2).get<int>())};
}

Json to_json(const Evaluation& evaluation) {
  return {evaluation.examples,     evaluation.epoch, evaluation.training_time_ns,
          evaluation.full_time_ns, evaluation.loss,  evaluation.metric};
}

Evaluation evaluation_in(const Json& json) {
  return {.examples = json.at(0).get<std::int64_t>(),
          .epoch = json.at(1).get<double>(),
          .training_time_ns = json.at(2).get<std::int64_t>(),
          .full_time_ns = json.at(3).get<std::int64_t>(),
          .loss = json.at(4).get<double>(),
          .metric = json.at(5).get<double>()};
}

/// Counts up to the last that is not zero.
Json to_json(const SpanHistogram& spans) {
  const SpanHistogram::Counts& counts = spans.counts();
  const auto end = std::find_if(counts.rbegin(), counts.rend(), [](auto n) { return n > 0; });
  return {{"sum", spans.sum()},
          {"largest", spans.largest()},
          {"counts", std::vector(counts.begin(), end.base())}};
}

SpanHistogram spans_in(const Json& json) {
  const auto given = json.at("counts").get<std::vector<std::uint32_t>>();
  SpanHistogram::Counts counts{};
  std::copy_n(given.begin(), std::min(given.size(), counts.size()), counts.begin());
  return SpanHistogram::of(counts, json.at("sum").get<std::int64_t>(),
                           json.at("largest").get<std::int64_t>());
}

Json to_json(const RankedWorker& worker) {
  const WorkerReport& report = worker.report;
  return {{"rank", worker.rank},
          {"place", to_json(report.place)},
          {"steps", report.steps},
          {"compute_ns", report.compute_ns},
          {"exposed_communication_ns", report.exposed_communication_ns},
          {"wait_ns", report.wait_ns},
          {"input_ns", report.input_ns},
          {"update_ns", report.update_ns},
          {"total_ns", report.total_ns},
          {"staleness", report.staleness},
          {"age", to_json(report.age)},
          {"updates_applied", report.updates_applied},
          {"updates_dropped", report.updates_dropped}};
}

RankedWorker worker_in(const Json& json) {
  return {.rank = json.at("rank").get<std::int64_t>(),
          .report = {
              .place = place_in(json.at("place")),
              .steps = json.at("steps").get<std::int64_t>(),
              .compute_ns = json.at("compute_ns").get<std::int64_t>(),
              .exposed_communication_ns = json.at("exposed_communication_ns").get<std::int64_t>(),
              .wait_ns = json.at("wait_ns").get<std::int64_t>(),
              .input_ns = json.at("input_ns").get<std::int64_t>(),
              .update_ns = json.at("update_ns").get<std::int64_t>(),
              .total_ns = json.at("total_ns").get<std::int64_t>(),
              .staleness = json.at("staleness").get<std::vector<std::uint64_t>>(),
              .age = spans_in(json.at("age")),
              .updates_applied = json.at("updates_applied").get<std::int64_t>(),
              .updates_dropped = json.at("updates_dropped").get<std::int64_t>()}};
}

Json to_json(const ExchangeTimes& times) {
  return {{"late", to_json(times.late)},
          {"late_uncertainty_ns", times.late_uncertainty_ns},
          {"wait", to_json(times.wait)},
          {"barrier", to_json(times.barrier)},
          {"queue", to_json(times.queue)},
          {"wire", to_json(times.wire)},
          {"pushes", times.pushes ? Json(*times.pushes) : Json(nullptr)}};
}

ExchangeTimes exchange_times_in(const Json& json) {
  ExchangeTimes times{.late = spans_in(json.at("late")),
                      .late_uncertainty_ns = json.at("late_uncertainty_ns").get<std::int64_t>(),
                      .wait = spans_in(json.at("wait")),
                      .barrier = spans_in(json.at("barrier")),
                      .queue = spans_in(json.at("queue")),
                      .wire = spans_in(json.at("wire")),
                      .pushes = {}};
  if (!json.at("pushes").is_null()) times.pushes = json.at("pushes").get<std::int64_t>();
  return times;
}

Json to_json(const TrainingReport& report, const Layout& layout) {
  Json workers = Json::array(), loops = Json::array(), traffic = Json::array();
  Json exchanges = Json::array();
  for (const RankedWorker& worker : report.workers) workers.push_back(to_json(worker));
  for (std::size_t i = 0; i < report.loops.size(); ++i) {
    const Layout::History& history = layout.loops.at(i);
    loops.push_back({{"number", report.loops[i].number},
                     {"share_of_batch", report.loops[i].share_of_batch},
                     {"step_ns", to_json(history.step_ns)},
                     {"losses", to_json(history.losses)},
                     {"examples", to_json(history.examples)}});
  }
  for (const auto& [place, counted] : report.traffic) {
    traffic.push_back({{"place", to_json(place)},
                       {"sent", counted.sent},
                       {"received", counted.received},
                       {"messages", counted.messages}});
  }
  for (const auto& [place, times] : report.exchange_times) {
    exchanges.push_back({{"place", to_json(place)}, {"times", to_json(times)}});
  }
  return {{"workers", workers},
          {"loops", loops},
          {"traffic", traffic},
          {"exchanges", exchanges},
          {"lost_updates", report.lost_updates}};
}

TrainingReport report_in(const Json& json, Layout& layout) {
  TrainingReport report;
  for (const Json& worker : json.at("workers")) report.workers.push_back(worker_in(worker));
  for (const Json& loop : json.at("loops")) {
    LoopHistory& history = report.loops.emplace_back();
    history.number = loop.at("number").get<int>();
    history.share_of_batch = loop.at("share_of_batch").get<double>();
    layout.loops.push_back({.step_ns = extent_in(loop.at("step_ns")),
                            .losses = extent_in(loop.at("losses")),
                            .examples = extent_in(loop.at("examples"))});
  }
  for (const Json& entry : json.at("traffic")) {
    report.traffic[place_in(entry.at("place"))] = {
        .sent = entry.at("sent").get<std::int64_t>(),
        .received = entry.at("received").get<std::int64_t>(),
        .messages = entry.at("messages").get<std::int64_t>()};
  }
  for (const Json& entry : json.at("exchanges")) {
    report.exchange_times[place_in(entry.at("place"))] = exchange_times_in(entry.at("times"));
  }
  report.lost_updates = json.at("lost_updates").get<std::int64_t>();
  return report;
}

}  // namespace

std::string header_text(const Checkpoint& checkpoint, const Layout& layout) {
  Json evaluations = Json::array(), variables = Json::array();
  for (const Evaluation& evaluation : checkpoint.evaluations) {
    evaluations.push_back(to_json(evaluation));
  }
  for (std::size_t i = 0; i < checkpoint.variables.size(); ++i) {
    const SavedVariable& variable = checkpoint.variables[i];
    variables.push_back({{"name", variable.name},
                         {"place", variable.place},
                         {"version", variable.version},
                         {"memory", to_json(layout.variables.at(i))}});
  }
  const Json header = {
      {"run_id", checkpoint.run_id},
      {"command", checkpoint.command},
      {"fingerprint", checkpoint.fingerprint},
      {"examples", checkpoint.examples},
      {"training_ns", checkpoint.training_ns},
      {"full_ns", checkpoint.full_ns},
      {"checkpoints_written", checkpoint.checkpoints.written},
      {"checkpoints_ns", checkpoint.checkpoints.time_ns},
      {"evaluations", evaluations},
      {"training_time_to_target_ns", to_json(checkpoint.training_time_to_target_ns)},
      {"full_time_to_target_ns", to_json(checkpoint.full_time_to_target_ns)},
      {"examples_to_target", to_json(checkpoint.examples_to_target)},
      {"report", to_json(checkpoint.report, layout)},
      {"variables", variables}};
  return header.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Checkpoint checkpoint_in(std::string_view header, Layout& layout) {
  const Json json = Json::parse(header);
  Checkpoint checkpoint;
  checkpoint.run_id = json.at("run_id").get<std::string>();
  checkpoint.command = json.at("command").get<std::string>();
  checkpoint.fingerprint = json.at("fingerprint").get<Fingerprint>();
  checkpoint.examples = json.at("examples").get<std::int64_t>();
  checkpoint.training_ns = json.at("training_ns").get<std::int64_t>();
  checkpoint.full_ns = json.at("full_ns").get<std::int64_t>();
  checkpoint.checkpoints.written = json.at("checkpoints_written").get<std::int64_t>();
  checkpoint.checkpoints.time_ns = json.at("checkpoints_ns").get<std::int64_t>();
  for (const Json& entry : json.at("evaluations")) {
    checkpoint.evaluations.push_back(evaluation_in(entry));
  }
  checkpoint.training_time_to_target_ns = count_in(json.at("training_time_to_target_ns"));
  checkpoint.full_time_to_target_ns = count_in(json.at("full_time_to_target_ns"));
  checkpoint.examples_to_target = count_in(json.at("examples_to_target"));
  checkpoint.report = report_in(json.at("report"), layout);
  for (const Json& entry : json.at("variables")) {
    checkpoint.variables.push_back({.name = entry.at("name").get<std::string>(),
                                    .place = entry.at("place").get<std::string>(),
                                    .version = entry.at("version").get<std::uint64_t>(),
                                    .memory = {}});
    layout.variables.push_back(extent_in(entry.at("memory")));
  }
  return checkpoint;
}

}  // namespace regatta
