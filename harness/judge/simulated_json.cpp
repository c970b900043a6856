// SPDX-License-Identifier: Apache-2.0
//
// Formats studies in virtual time as JSON for the page of plots/. Ways and links are given by their
// indices in lists. Times are in seconds, except a link's latency; infinite numbers are null.
#include <set>

#include "harness/judge/record_json.h"

namespace regatta::judgement_json {
namespace {

/// The distinct values of a study's runs, in order.
std::set<std::string> each(const SimulatedStudy& study, const auto& value) {
  std::set<std::string> all;
  for (const SimulatedPoint& point : study.points) {
    for (const Record* run : point.cell.runs) all.insert(value(*run));
  }
  return all;
}

Json link_json(const SimulatedLink& link) {
  return {{"bytes_per_s", finite(link.bytes_per_s)},
          {"latency_ns", link.latency_ns},
          {"core_bytes_per_s", finite(link.core_bytes_per_s)},
          {"cluster", link.cluster}};
}

Json point_json(const SimulatedPoint& point) {
  const Record& run = *point.cell.runs.front();
  const auto& to_target = point.cell.seconds_to_target;
  const auto& metric = point.cell.metric;
  const Staleness& staleness = point.cell.staleness;
  return {
      {"way", point.way},
      {"link", point.link},
      {"workers", point.workers},
      {"global_batch", run.cell.global_batch},
      {"count", point.cell.runs.size()},
      {"examples_per_s", speed_of(point)},
      {"step_seconds", point.step_seconds},
      {"parts", step_json(point.cell)},
      {"reached", point.cell.reached},
      {"claims_time", point.cell.claims_time},
      {"seconds_to_target", to_target ? finite(to_target->median) : Json(nullptr)},
      {"metric", metric ? finite(metric->median) : Json(nullptr)},
      {"staleness", staleness.updates > 0 ? Json{{"mean", staleness.mean}, {"max", staleness.max}}
                                          : Json(nullptr)},
      {"command", run.command}};
}

Json study_json(const SimulatedStudy& study) {
  const Record& first = *study.ways.front();
  const Simulated& simulated = *first.simulated;
  Json ways = Json::array(), links = Json::array(), points = Json::array();
  for (const Record* way : study.ways) ways.push_back({{"cell", cell_json(*way)}});
  for (const SimulatedLink& link : study.links) links.push_back(link_json(link));
  for (const SimulatedPoint& point : study.points) points.push_back(point_json(point));
  return {
      {"workload", first.cell.workload},
      {"dataset", first.cell.dataset},
      {"target", object_of(first.target)},
      {"mode", simulated.mode},
      {"source", simulated.source},
      {"hardware", simulated.hardware ? object_of(*simulated.hardware) : Json(nullptr)},
      {"calibrations", each(study, [](const Record& run) { return run.simulated->calibration; })},
      {"commits", each(study, [](const Record& run) { return run.software.git_commit; })},
      {"machines", each(study, [](const Record& run) { return run.machine.cpu; })},
      {"batch_grows", study.batch_grows},
      {"one_worker", finite(study.one_worker)},
      {"ways", ways},
      {"links", links},
      {"points", points}};
}

}  // namespace

Json simulated_json(std::span<const SimulatedStudy> studies) {
  Json all = Json::array();
  for (const SimulatedStudy& study : studies) all.push_back(study_json(study));
  return all;
}

}  // namespace regatta::judgement_json
