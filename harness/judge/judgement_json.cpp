// SPDX-License-Identifier: Apache-2.0
//
// Formats a judgement as JSON with everything that plots/ reads: medians as {median, low, high,
// coverage}, null for infinite numbers, times in seconds. Each run has its samples, and its command
// so that a page can show how to repeat it.
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "harness/judge/cell_identity.h"
#include "harness/judge/example_graph.h"
#include "harness/judge/judgement.h"
#include "harness/record/record_fields.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta::judge {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json plain(const T& value) {
  return value;
}
template <typename T>
Json plain(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Converts `part` to a JSON object of its fields, none of which may be a part of a record itself.
template <HasFields T>
Json object_of(const T& part) {
  Json object = Json::object();
  for_each_field(part, [&](const char* name, const auto& value, const auto&...) {
    object.emplace(name, plain(value));
  });
  return object;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// Converts the run's cell to JSON as in the record, without the seed.
Json cell_json(const record::Record& run) {
  Json cell = Json::object();
  record::Cell complete = run.cell;
  complete.options = options_of(run.cell);
  for (const auto& [name, value] : record::lines_of(complete)) {
    if (name != "seed") cell.emplace(name, Json::parse(value));
  }
  return cell;
}

/// Converts the parts of a worker's step to a JSON object by name. Units: seconds.
Json step_json(const CellJudgement& cell) {
  Json parts = Json::object();
  for (std::size_t i = 0; i < kStepParts.size(); ++i) {
    parts.emplace(kStepParts[i], cell.step_seconds[i]);
  }
  return parts;
}

Json seconds(const std::optional<std::int64_t>& ns) {
  return ns ? Json(static_cast<double>(*ns) * 1e-9) : Json(nullptr);
}

Json to_json(const std::optional<MedianInterval>& interval) {
  if (!interval) return nullptr;
  return {{"median", finite(interval->median)},
          {"low", finite(interval->low)},
          {"high", finite(interval->high)},
          {"coverage", interval->coverage}};
}

Json to_json(const record::Evaluation& evaluation) {
  return {{"examples", evaluation.examples},
          {"epoch", evaluation.epoch},
          {"seconds", static_cast<double>(evaluation.training_time_ns) * 1e-9},
          {"loss", evaluation.loss},
          {"metric", evaluation.metric}};
}

Json to_json(const std::optional<Crossing>& crossing) {
  if (!crossing) return nullptr;
  return {{"before", crossing->before ? to_json(*crossing->before) : Json(nullptr)},
          {"at", to_json(crossing->at)},
          {"held", crossing->held}};
}

/// Bytes per step by sender; a place without steps is left out.
Json sent_by_place(const record::Record& run) {
  Json sent = Json::object();
  for (const record::WorkerRecord& worker : run.workers) {
    if (worker.steps == 0) continue;
    sent[worker.place] = static_cast<double>(worker.bytes_sent) / static_cast<double>(worker.steps);
  }
  return sent;
}

/// The planned bytes of the worker that needs most, by purpose; empty if no record has them.
Json memory_by_purpose(const record::Record& run) {
  const auto most = std::ranges::max_element(run.workers, {}, &record::WorkerRecord::planned_bytes);
  if (most == run.workers.end()) return Json::object();
  const std::int64_t known =
      most->parameter_bytes + most->slot_bytes + most->activation_bytes + most->gradient_bytes;
  if (known == 0) return Json::object();  // a record of a version before these
  return {{"parameters", most->parameter_bytes},
          {"slots", most->slot_bytes},
          {"gradients", most->gradient_bytes},
          {"activations", most->activation_bytes},
          {"others", most->planned_bytes - known}};
}

Json loss_samples(const record::Record& run) {
  Json samples = Json::array();
  for (const record::LossSample& each : run.losses) samples.push_back({each.examples, each.loss});
  return samples;
}

/// The samples of a run that figures draw.
Json samples_of(const record::Record& run) {
  Json evaluations = Json::array();
  for (const record::Evaluation& each : run.evaluations) evaluations.push_back(to_json(each));
  return {{"evaluations", evaluations},
          {"losses", loss_samples(run)},
          {"updates", run.step_time_ns.count},
          {"bytes_per_step_by_place", sent_by_place(run)},
          {"memory_by_purpose", memory_by_purpose(run)},
          {"nodes_per_process", run.graph.nodes_per_process}};
}

Json run_json(const record::Record& run) {
  Json json = {
      {"run_id", run.run_id},
      {"timestamp", run.timestamp},
      {"seed", run.cell.seed},
      {"status", to_string(run.status)},
      {"failure", run.failure ? object_of(*run.failure) : Json(nullptr)},
      {"seconds_to_target", seconds(run.training_time_to_target_ns)},
      {"full_seconds_to_target", seconds(run.full_time_to_target_ns)},
      {"result_seconds_to_target", seconds(run.result_time_to_target_ns)},
      {"examples_to_target", plain(run.examples_to_target)},
      {"examples_per_s", finite(run.examples_per_s)},
      {"metric", run.evaluations.empty() ? Json(nullptr) : Json(run.evaluations.back().metric)},
      {"crossing", to_json(crossing_of(run))},
      {"lost_processes", run.lost_processes},
      {"setup_seconds", seconds(run.setup_ns)},
      {"interface_bytes", plain(run.interface_bytes)},
      {"program", run.program ? object_of(*run.program) : Json(nullptr)},
      {"proof", run.proof ? object_of(*run.proof) : Json(nullptr)},
      {"command", run.command},
      {"commit", run.software.git_commit},
      {"dirty", run.software.dirty}};
  json.update(samples_of(run));
  return json;
}

Json curve_json(const CellJudgement& cell) {
  Json curve = Json::array();
  for (const CurvePoint& each : cell.curve) {
    curve.push_back({{"examples", each.examples},
                     {"epoch", each.epoch},
                     {"seconds", each.seconds},
                     {"metric", each.metric},
                     {"low", each.low},
                     {"high", each.high}});
  }
  return curve;
}

Json to_json(const std::optional<LastWorker>& last) {
  if (!last) return nullptr;
  return {{"place", last->place},
          {"late_seconds", last->late_seconds},
          {"uncertainty_seconds", last->uncertainty_seconds}};
}

Json to_json(const std::optional<ExchangeWait>& wait) {
  if (!wait) return nullptr;
  return {{"mean_seconds", wait->mean_seconds}, {"p99_seconds", wait->p99_seconds}};
}

Json to_json(const std::optional<PushTimes>& pushes) {
  if (!pushes) return nullptr;
  return {{"barrier_seconds", pushes->barrier_seconds},
          {"queue_seconds", pushes->queue_seconds},
          {"wire_seconds", pushes->wire_seconds}};
}

Json to_json(const AgainstFirst& against) {
  Json json = {{"standing", to_string(against.standing)}, {"p", against.p}};
  if (const auto& ratio = against.ratio) {
    json.update({{"pairs", ratio->time.pairs},
                 {"time", ratio->time.value},
                 {"examples", ratio->examples},
                 {"each", ratio->each},
                 {"low", finite(against.interval->low)},
                 {"high", finite(against.interval->high)}});
  }
  return json;
}

Json to_json(const std::optional<LeftOut>& out, const AgainstFirst& against) {
  if (!out) return nullptr;
  const bool slower = out->standing == Standing::Slower && against.interval;
  return {{"round", out->round},
          {"why", out->standing == Standing::Level ? "precise" : to_string(out->standing)},
          {"at_least", slower ? finite(against.interval->low) : Json(nullptr)}};
}

Json to_json(const std::optional<AgainstSingle>& against) {
  if (!against) return nullptr;
  const auto& interval = against->interval;
  return {{"time", against->time},
          {"low", interval ? finite(interval->low) : Json(nullptr)},
          {"high", interval ? finite(interval->high) : Json(nullptr)}};
}

Json to_json(const std::optional<RoundsOfRace>& rounds) {
  if (!rounds) return nullptr;
  return {{"rounds", rounds->rounds},
          {"decided", rounds->is_decided},
          {"precision", rounds->precision}};
}

Json to_json(const CellJudgement& cell) {
  Json runs = Json::array();
  for (const record::Record* run : cell.runs) runs.push_back(run_json(*run));
  return {{"cell", cell_json(*cell.runs.front())},
          {"claims_time", cell.claims_time},
          {"count", cell.runs.size()},
          {"reached", cell.reached},
          {"held", cell.held},
          {"failed", cell.failed},
          {"seconds_to_target", to_json(cell.seconds_to_target)},
          {"full_seconds_to_target", to_json(cell.full_seconds_to_target)},
          {"result_seconds_to_target", to_json(cell.result_seconds_to_target)},
          {"examples_to_target", to_json(cell.examples_to_target)},
          {"seconds_per_example", to_json(cell.seconds_per_example)},
          {"tokens_per_example", plain(cell.tokens_per_example)},
          {"mfu", to_json(cell.mfu)},
          {"metric", to_json(cell.metric)},
          {"bits_per_byte", to_json(cell.bits_per_byte)},
          {"curve", curve_json(cell)},
          {"typical_seconds", finite(cell.typical_seconds)},
          {"against_first", to_json(cell.against_first)},
          {"against_single", to_json(cell.against_single)},
          {"left_out", to_json(cell.left_out, cell.against_first)},
          {"step_seconds", step_json(cell)},
          {"bytes_per_step_computed", cell.bytes_per_step_computed},
          {"bytes_per_step_counted", cell.bytes_per_step_counted},
          {"last_worker", to_json(cell.last_worker)},
          {"exchange_wait", to_json(cell.exchange_wait)},
          {"pushes", to_json(cell.pushes)},
          {"staleness",
           {{"updates", cell.staleness.updates},
            {"mean", cell.staleness.mean},
            {"max", cell.staleness.max},
            {"histogram", cell.staleness.histogram}}},
          {"updates_dropped", cell.updates_dropped},
          {"lost_updates", cell.lost_updates},
          {"runs", runs}};
}

/// The distinct software and environments of the runs.
Json software_of(const WorkloadJudgement& workload) {
  std::set<std::string> seen;
  Json all = Json::array();
  for (const CellJudgement& cell : workload.cells) {
    for (const record::Record* run : cell.runs) {
      const Json one = {{"software", object_of(run->software)}, {"environment", run->environment}};
      if (seen.insert(one.dump()).second) all.push_back(one);
    }
  }
  return all;
}

/// The workload's options that differ from its defaults, such as `width 32`.
Json unusual_options_of_workload(const record::Record& record) {
  const OptionValues options = options_of(record.cell);
  Json texts = Json::array();
  for (const Trait& trait : traits_of(record)) {
    const bool is_of_workload = trait.part.reach == record::CellPart::Reach::Workload;
    if (!is_of_workload || trait.is_default || !options.contains(trait.name)) continue;
    texts.push_back(trait.name + ' ' + trait.value);
  }
  return texts;
}

Json to_json(const WorkloadJudgement& workload) {
  const record::Record& record = *workload.cells.front().runs.front();
  Json cells = Json::array();
  for (const CellJudgement& cell : workload.cells) cells.push_back(to_json(cell));
  Json matrices = Json::array();
  for (const WorkloadNotes& each : workload.matrices) {
    matrices.push_back({{"missing", each.missing},
                        {"seconds", each.seconds},
                        {"command", each.command},
                        {"tuned", each.tuned}});
  }
  return {{"workload", record.cell.workload},
          {"shows", to_string(workloads::shows_of(record.cell.workload))},
          {"dataset", record.cell.dataset},
          {"options", unusual_options_of_workload(record)},
          {"target", object_of(record.target)},
          {"machine", object_of(record.machine)},
          {"virtual_time", record.simulated.has_value()},
          {"software", software_of(workload)},
          {"certainty", to_string(workload.certainty)},
          {"decision", to_json(workload.rounds)},
          {"same_start",
           {{"compared", workload.same_start.compared}, {"differs", workload.same_start.differs}}},
          {"warnings", workload.warnings},
          {"matrices", matrices},
          {"cells", cells}};
}

Json to_json(const Claim& claim) {
  return {
      {"name", claim.name},       {"taught", claim.taught},   {"verdict", to_string(claim.verdict)},
      {"yes", claim.balance.yes}, {"no", claim.balance.no},   {"unclear", claim.balance.unclear},
      {"because", claim.because}, {"numbers", claim.numbers}, {"figure", claim.figure},
      {"seeds", claim.seeds},     {"missing", claim.missing}};
}

/// The program's strategies, each with the graph that it makes from a small step.
Json strategies_json() {
  Json rows = Json::array();
  for (const strategies::Strategy* each : strategies::all_strategies()) {
    rows.push_back({{"name", each->name},
                    {"summary", each->summary},
                    {"exchange", to_string(each->exchange)},
                    {"processes", to_string(each->processes)},
                    {"colour", each->colour},
                    {"graph", example_graph(*each)}});
  }
  return rows;
}

/// The declarations of a cell's fields: whether compared cells may differ in the field, and the
/// words of its label.
Json cell_fields_json() {
  Json fields = Json::object();
  for (const record::CellText& each : record::texts_of(record::Cell{})) {
    const bool varies = each.part.role == record::CellPart::Role::Contestant ||
                        (each.part.role == record::CellPart::Role::Setting &&
                         each.part.reach == record::CellPart::Reach::Cell);
    Json words = Json::array();
    std::istringstream label{std::string(each.part.label)};
    for (std::string word; std::getline(label, word, '|');) words.push_back(word);
    fields[each.name] = {{"varies", varies}, {"label", words}};
  }
  return fields;
}

}  // namespace

std::string to_json(const Judgement& judgement, const std::vector<std::string>& folders) {
  const auto all = [](const std::vector<WorkloadJudgement>& workloads) {
    Json array = Json::array();
    for (const WorkloadJudgement& each : workloads) array.push_back(to_json(each));
    return array;
  };
  Json claims = Json::array();
  for (const Claim& claim : judgement.claims) claims.push_back(to_json(claim));
  const Json json = {{"strategies", strategies_json()},
                     {"cell_fields", cell_fields_json()},
                     {"folders", folders},
                     {"warnings", judgement.warnings},
                     {"workloads", all(judgement.workloads)},
                     {"measurements", all(judgement.measurements)},
                     {"virtual_time", all(judgement.virtual_time)},
                     {"claims", claims}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace regatta::judge
