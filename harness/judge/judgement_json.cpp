// SPDX-License-Identifier: Apache-2.0
//
// Formats a judgement as JSON with everything that plots/ reads: medians as {median, low, high,
// coverage}, null for infinite numbers (as the library writes them), times in seconds. Each run has
// its samples, and its command so that a page can show how to repeat it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
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

Json plain(const auto& value) { return value; }
template <typename T>
Json plain(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Converts `part` to a JSON object of its fields, none of which may be a part of a record itself.
template <HasFields T>
Json to_json(const T& part) {
  Json object = Json::object();
  for_each_field(part, [&](const char* name, const auto& value, const auto&...) {
    object.emplace(name, plain(value));
  });
  return object;
}

Json to_json(const MedianInterval& interval) {
  return {{"median", interval.median},
          {"low", interval.low},
          {"high", interval.high},
          {"coverage", interval.coverage}};
}

Json to_json(const record::Evaluation& evaluation) {
  return {{"examples", evaluation.examples},
          {"epoch", evaluation.epoch},
          {"seconds", static_cast<double>(evaluation.training_time_ns) * 1e-9},
          {"loss", evaluation.loss},
          {"metric", evaluation.metric}};
}

Json to_json(const Crossing& crossing) {
  return {{"before", crossing.before ? to_json(*crossing.before) : Json(nullptr)},
          {"at", to_json(crossing.at)},
          {"held", crossing.held}};
}

Json to_json(const record::LossSample& sample) { return {sample.examples, sample.loss}; }

Json to_json(const CurvePoint& point) {
  return {{"examples", point.examples}, {"epoch", point.epoch}, {"seconds", point.seconds},
          {"metric", point.metric},     {"low", point.low},     {"high", point.high}};
}

Json to_json(const LastWorker& last) {
  return {{"place", last.place},
          {"late_seconds", last.late_seconds},
          {"uncertainty_seconds", last.uncertainty_seconds}};
}

Json to_json(const ExchangeWait& wait) {
  return {{"mean_seconds", wait.mean_seconds}, {"p99_seconds", wait.p99_seconds}};
}

Json to_json(const PushTimes& pushes) {
  return {{"barrier_seconds", pushes.barrier_seconds},
          {"queue_seconds", pushes.queue_seconds},
          {"wire_seconds", pushes.wire_seconds}};
}

Json to_json(const AgainstSingle& against) {
  const auto& interval = against.interval;
  return {{"time", against.time},
          {"low", interval ? Json(interval->low) : Json(nullptr)},
          {"high", interval ? Json(interval->high) : Json(nullptr)}};
}

Json to_json(const RoundsOfRace& rounds) {
  return {
      {"rounds", rounds.rounds}, {"decided", rounds.is_decided}, {"precision", rounds.precision}};
}

Json to_json(const WorkloadNotes& notes) {
  return {{"missing", notes.missing},
          {"seconds", notes.seconds},
          {"command", notes.command},
          {"tuned", notes.tuned}};
}

Json to_json(const Claim& claim) {
  return {
      {"name", claim.name},       {"taught", claim.taught},   {"verdict", to_string(claim.verdict)},
      {"yes", claim.balance.yes}, {"no", claim.balance.no},   {"unclear", claim.balance.unclear},
      {"because", claim.because}, {"numbers", claim.numbers}, {"figure", claim.figure},
      {"seeds", claim.seeds},     {"missing", claim.missing}};
}

Json to_json(const record::Record* record);
Json to_json(const CellJudgement& cell);
Json to_json(const WorkloadJudgement& workload);

template <typename T>
Json to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

template <typename T>
Json to_json(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& each : values) array.push_back(to_json(each));
  return array;
}

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

/// With the samples that figures draw.
Json to_json(const record::Record* record) {
  const record::Record& run = *record;
  return {{"run_id", run.run_id},
          {"timestamp", run.timestamp},
          {"seed", run.cell.seed},
          {"status", to_string(run.status)},
          {"failure", to_json(run.failure)},
          {"seconds_to_target", seconds(run.training_time_to_target_ns)},
          {"full_seconds_to_target", seconds(run.full_time_to_target_ns)},
          {"result_seconds_to_target", seconds(run.result_time_to_target_ns)},
          {"examples_to_target", plain(run.examples_to_target)},
          {"examples_per_s", run.examples_per_s},
          {"metric", run.evaluations.empty() ? Json(nullptr) : Json(run.evaluations.back().metric)},
          {"crossing", to_json(crossing_of(run))},
          {"lost_processes", run.lost_processes},
          {"setup_seconds", seconds(run.setup_ns)},
          {"interface_bytes", plain(run.interface_bytes)},
          {"program", to_json(run.program)},
          {"proof", to_json(run.proof)},
          {"command", run.command},
          {"commit", run.software.git_commit},
          {"dirty", run.software.dirty},
          {"evaluations", to_json(run.evaluations)},
          {"losses", to_json(run.losses)},
          {"updates", run.step_time_ns.count},
          {"bytes_per_step_by_place", sent_by_place(run)},
          {"memory_by_purpose", memory_by_purpose(run)},
          {"nodes_per_process", run.graph.nodes_per_process}};
}

Json to_json(const AgainstFirst& against) {
  Json json = {{"standing", to_string(against.standing)}, {"p", against.p}};
  if (const auto& ratio = against.ratio) {
    json.update({{"pairs", ratio->time.pairs},
                 {"time", ratio->time.value},
                 {"examples", ratio->examples},
                 {"each", ratio->each},
                 {"low", against.interval->low},
                 {"high", against.interval->high}});
  }
  return json;
}

Json to_json(const std::optional<LeftOut>& out, const AgainstFirst& against) {
  if (!out) return nullptr;
  const bool slower = out->standing == Standing::Slower && against.interval;
  return {{"round", out->round},
          {"why", out->standing == Standing::Level ? "precise" : to_string(out->standing)},
          {"at_least", slower ? Json(against.interval->low) : Json(nullptr)}};
}

Json to_json(const CellJudgement& cell) {
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
          {"curve", to_json(cell.curve)},
          {"typical_seconds", cell.typical_seconds},
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
          {"runs", to_json(cell.runs)}};
}

/// The distinct software and environments of the runs.
Json software_of(const WorkloadJudgement& workload) {
  Json all = Json::array();
  for (const CellJudgement& cell : workload.cells) {
    for (const record::Record* run : cell.runs) {
      const Json one = {{"software", to_json(run->software)}, {"environment", run->environment}};
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
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
  return {{"workload", record.cell.workload},
          {"shows", to_string(workloads::shows_of(record.cell.workload))},
          {"dataset", record.cell.dataset},
          {"options", unusual_options_of_workload(record)},
          {"target", to_json(record.target)},
          {"machine", to_json(record.machine)},
          {"virtual_time", record.simulated.has_value()},
          {"software", software_of(workload)},
          {"certainty", to_string(workload.certainty)},
          {"decision", to_json(workload.rounds)},
          {"same_start",
           {{"compared", workload.same_start.compared}, {"differs", workload.same_start.differs}}},
          {"warnings", workload.warnings},
          {"matrices", to_json(workload.matrices)},
          {"cells", to_json(workload.cells)}};
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
  const Json json = {{"strategies", strategies_json()},
                     {"cell_fields", cell_fields_json()},
                     {"folders", folders},
                     {"warnings", judgement.warnings},
                     {"workloads", to_json(judgement.workloads)},
                     {"measurements", to_json(judgement.measurements)},
                     {"virtual_time", to_json(judgement.virtual_time)},
                     {"claims", to_json(judgement.claims)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace regatta::judge
