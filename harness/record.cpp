// SPDX-License-Identifier: Apache-2.0
#include "harness/record.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename T>
Json array_of(const std::vector<T>& values);

Json to_json(const Straggler& straggler) {
  return {{"worker", straggler.worker}, {"factor", straggler.factor}};
}

Json to_json(const Cell& cell) {
  return {{"workload", cell.workload},
          {"dataset", cell.dataset},
          {"strategy", cell.strategy},
          {"all_reduce", or_null(cell.all_reduce)},
          {"bucket_bytes", or_null(cell.bucket_bytes)},
          {"sharing", or_null(cell.sharing)},
          {"workers", cell.workers},
          {"stages", cell.stages},
          {"servers", cell.servers},
          {"backup_workers", cell.backup_workers},
          {"staleness_bound", or_null(cell.staleness_bound)},
          {"device", cell.device},
          {"dtype", cell.dtype},
          {"fusion", cell.fusion},
          {"global_batch", cell.global_batch},
          {"rate_scale", cell.rate_scale},
          {"processes", cell.processes},
          {"threads_per_worker", cell.threads_per_worker},
          {"oversubscribed", cell.oversubscribed},
          {"straggler", array_of(cell.straggler)},
          {"seed", cell.seed}};
}

Json to_json(const Failure& failure) { return {{"kind", failure.kind}, {"text", failure.text}}; }

Json to_json(const Target& target) { return {{"metric", target.metric}, {"value", target.value}}; }

Json to_json(const Evaluation& evaluation) {
  return {{"examples", evaluation.examples},
          {"epoch", evaluation.epoch},
          {"training_time_ns", evaluation.training_time_ns},
          {"full_time_ns", evaluation.full_time_ns},
          {"loss", evaluation.loss},
          {"metric", evaluation.metric}};
}

Json to_json(const StepTimes& times) {
  return {{"count", times.count}, {"min", times.min}, {"p50", times.p50},
          {"p90", times.p90},     {"p99", times.p99}, {"max", times.max}};
}

Json to_json(const SpanRecord& spans) {
  return {{"count", spans.count},
          {"sum", spans.sum},
          {"p50", spans.p50},
          {"p99", spans.p99},
          {"max", spans.max}};
}

Json to_json(const PushRecord& pushes) {
  return {{"barrier_ns", to_json(pushes.barrier_ns)},
          {"queue_ns", to_json(pushes.queue_ns)},
          {"wire_ns", to_json(pushes.wire_ns)}};
}

template <typename T>
Json object_or_null(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

Json to_json(const WorkerRecord& worker) {
  return {{"rank", worker.rank},
          {"place", worker.place},
          {"replica", worker.replica},
          {"steps", worker.steps},
          {"compute_ns", worker.compute_ns},
          {"exposed_communication_ns", worker.exposed_communication_ns},
          {"wait_ns", worker.wait_ns},
          {"input_ns", worker.input_ns},
          {"update_ns", worker.update_ns},
          {"bytes_sent", worker.bytes_sent},
          {"bytes_received", worker.bytes_received},
          {"staleness_histogram", worker.staleness_histogram},
          {"updates_applied", worker.updates_applied},
          {"updates_dropped", worker.updates_dropped},
          {"late_ns", object_or_null(worker.late_ns)},
          {"exchange_wait_ns", object_or_null(worker.exchange_wait_ns)},
          {"pushes", object_or_null(worker.pushes)}};
}

Json to_json(const GraphRecord& graph) {
  return {{"nodes", graph.nodes},
          {"nodes_per_process", graph.nodes_per_process},
          {"build_ns", graph.build_ns},
          {"bytes_per_step_computed", graph.bytes_per_step_computed},
          {"bytes_per_step_counted", graph.bytes_per_step_counted},
          {"shard_imbalance", or_null(graph.shard_imbalance)}};
}

Json to_json(const Checksums& checksums) {
  return {{"initial_weights", checksums.initial_weights}, {"data_order", checksums.data_order}};
}

Json to_json(const MemoryRecord& memory) {
  return {{"planned_bytes", memory.planned_bytes},
          {"evaluation_planned_bytes", memory.evaluation_planned_bytes},
          {"data_bytes", memory.data_bytes},
          {"peak_rss_bytes", memory.peak_rss_bytes}};
}

Json to_json(const CheckpointsRecord& checkpoints) {
  return {{"written", checkpoints.written}, {"time_ns", checkpoints.time_ns}};
}

Json to_json(const Resumed& resumed) {
  return {{"run_id", resumed.run_id}, {"from", resumed.from}, {"examples", resumed.examples}};
}

Json to_json(const LossSample& sample) {
  return {{"examples", sample.examples}, {"loss", sample.loss}};
}

Json to_json(const MachineFacts& machine) {
  return {{"cpu", machine.cpu},
          {"isa", machine.isa},
          {"cores_available", machine.cores_available},
          {"cores_physical", machine.cores_physical},
          {"cores_used", machine.cores_used},
          {"cpu_quota", or_null(machine.cpu_quota)},
          {"memory_bytes", machine.memory_bytes},
          {"gpus", machine.gpus},
          {"driver", or_null(machine.driver)},
          {"link", machine.link}};
}

Json to_json(const SoftwareFacts& software) {
  return {{"compiler", software.compiler},
          {"onednn", software.onednn},
          {"open_mpi", or_null(software.open_mpi)},
          {"grpc", or_null(software.grpc)},
          {"cuda", or_null(software.cuda)},
          {"cudnn", or_null(software.cudnn)},
          {"nccl", or_null(software.nccl)},
          {"git_commit", software.git_commit},
          {"dirty", software.dirty}};
}

/// After the functions it calls, which lookup by argument does not find in here.
template <typename T>
Json array_of(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(to_json(value));
  return array;
}

Json to_json(const Record& record) {
  return {{"schema", Record::kSchema},
          {"run_id", record.run_id},
          {"timestamp", record.timestamp},
          {"cell", to_json(record.cell)},
          {"status", to_string(record.status)},
          {"failure", object_or_null(record.failure)},
          {"target", to_json(record.target)},
          {"training_time_to_target_ns", or_null(record.training_time_to_target_ns)},
          {"full_time_to_target_ns", or_null(record.full_time_to_target_ns)},
          {"examples_to_target", or_null(record.examples_to_target)},
          {"evaluations", array_of(record.evaluations)},
          {"examples_per_s", record.examples_per_s},
          {"step_time_ns", to_json(record.step_time_ns)},
          {"workers", array_of(record.workers)},
          {"lost_updates", record.lost_updates},
          {"lost_processes", record.lost_processes},
          {"graph", to_json(record.graph)},
          {"checksums", to_json(record.checksums)},
          {"setup_ns", record.setup_ns},
          {"warmup_ns", record.warmup_ns},
          {"training_ns", record.training_ns},
          {"full_ns", record.full_ns},
          {"memory", to_json(record.memory)},
          {"checkpoints", to_json(record.checkpoints)},
          {"resumed", record.resumed ? to_json(*record.resumed) : Json(nullptr)},
          {"losses", array_of(record.losses)},
          {"command", record.command},
          {"machine", to_json(record.machine)},
          {"software", to_json(record.software)},
          {"environment", record.environment}};
}

/// JSON has no infinity and no NaN; a value that is one must not become null unseen.
void require_finite(const Json& json, const std::string& path) {
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      require_finite(value, path.empty() ? name : path + "." + name);
    }
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i) {
      require_finite(json[i], path + "[" + std::to_string(i) + "]");
    }
  } else if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    throw RunError(ErrorKind::Diverged, "cannot write the record: " + path + " is " +
                                            std::to_string(json.get<double>()) +
                                            ", not a finite number");
  }
}

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::Reached: return "reached";
    case Status::Missed: return "missed";
    case Status::Failed: return "failed";
  }
  return "unknown";
}

std::vector<std::pair<std::string, std::string>> lines_of(const Cell& cell) {
  std::vector<std::pair<std::string, std::string>> lines;
  const Json json = to_json(cell);
  for (const auto& [name, value] : json.items()) lines.emplace_back(name, value.dump());
  return lines;
}

std::string to_json_line(const Record& record) {
  const Json json = to_json(record);
  require_finite(json, "");
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace regatta
