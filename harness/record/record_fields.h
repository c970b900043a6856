// SPDX-License-Identifier: Apache-2.0
//
// Lists the names and members of each part of a record once, for the writer and the reader.
// for_each_field(part, field) calls field(name, member) for each member of `part`, in the order of
// the JSON; `field` may assign to members unless `part` is const.
#pragma once

#include "harness/record/record.h"
#include "kernels/base/fields.h"

namespace regatta {

template <FieldsOf<Straggler> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("worker", part.worker);
  field("factor", part.factor);
}

template <FieldsOf<Cell> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("workload", part.workload);
  field("recipe", part.recipe);
  field("dataset", part.dataset);
  field("unverified_data", part.unverified_data);
  field("strategy", part.strategy);
  field("options", part.options);
  field("workers", part.workers);
  field("stages", part.stages);
  field("device", part.device);
  field("cuda_graph", part.cuda_graph);
  field("cudnn_engine", part.cudnn_engine);
  field("dtype", part.dtype);
  field("fusion", part.fusion);
  field("winograd", part.winograd);
  field("global_batch", part.global_batch);
  field("normalization_group", part.normalization_group);
  field("rate_scale", part.rate_scale);
  field("steps", part.steps);
  field("epochs", part.epochs);
  field("evaluate", part.evaluate);
  field("processes", part.processes);
  field("threads_per_worker", part.threads_per_worker);
  field("oversubscribed", part.oversubscribed);
  field("gpus", part.gpus);
  field("shared_gpu", part.shared_gpu);
  field("straggler", part.straggler);
  field("seed", part.seed);
}

template <FieldsOf<Failure> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("kind", part.kind);
  field("text", part.text);
}

template <FieldsOf<Target> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("metric", part.metric);
  field("value", part.value);
}

template <FieldsOf<Evaluation> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("examples", part.examples);
  field("epoch", part.epoch);
  field("training_time_ns", part.training_time_ns);
  field("full_time_ns", part.full_time_ns);
  field("result_time_ns", part.result_time_ns);
  field("loss", part.loss);
  field("metric", part.metric);
  field("parameter_norm", part.parameter_norm);
}

template <FieldsOf<StepTimes> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("count", part.count);
  field("min", part.min);
  field("p50", part.p50);
  field("p90", part.p90);
  field("p99", part.p99);
  field("max", part.max);
}

template <FieldsOf<StepExamples> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("count", part.count);
  field("sum", part.sum);
  field("min", part.min);
  field("max", part.max);
}

template <FieldsOf<SpanRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("count", part.count);
  field("sum", part.sum);
  field("p50", part.p50);
  field("p99", part.p99);
  field("max", part.max);
}

template <FieldsOf<PushRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("barrier_ns", part.barrier_ns);
  field("queue_ns", part.queue_ns);
  field("wire_ns", part.wire_ns);
}

template <FieldsOf<WorkerRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("rank", part.rank);
  field("host", part.host);
  field("place", part.place);
  field("replica", part.replica);
  field("steps", part.steps);
  field("compute_ns", part.compute_ns);
  field("delay_ns", part.delay_ns);
  field("straggler_factor", part.straggler_factor);
  field("exposed_communication_ns", part.exposed_communication_ns);
  field("wait_ns", part.wait_ns);
  field("bubble_ns", part.bubble_ns);
  field("input_ns", part.input_ns);
  field("update_ns", part.update_ns);
  field("planned_bytes", part.planned_bytes);
  field("process_peak_bytes", part.process_peak_bytes);
  field("bytes_sent", part.bytes_sent);
  field("bytes_received", part.bytes_received);
  field("staleness_histogram", part.staleness_histogram);
  field("age_ns", part.age_ns);
  field("updates_applied", part.updates_applied);
  field("updates_dropped", part.updates_dropped);
  field("late_ns", part.late_ns);
  field("late_uncertainty_ns", part.late_uncertainty_ns);
  field("exchange_wait_ns", part.exchange_wait_ns);
  field("pushes", part.pushes);
}

template <FieldsOf<ClockRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("rank", part.rank);
  field("offset_ns", part.offset_ns);
  field("drift_ppb", part.drift_ppb);
  field("error_ns", part.error_ns);
}

template <FieldsOf<SumRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("algorithm", part.algorithm);
  field("torus", part.torus);
  field("members", part.members);
  field("bytes", part.bytes);
}

template <FieldsOf<GraphRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("nodes", part.nodes);
  field("nodes_per_process", part.nodes_per_process);
  field("models", part.models);
  field("build_ns", part.build_ns);
  field("bytes_per_step_computed", part.bytes_per_step_computed);
  field("bytes_per_step_counted", part.bytes_per_step_counted);
  field("shard_imbalance", part.shard_imbalance);
  field("all_reduces", part.all_reduces);
}

template <FieldsOf<Checksums> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("initial_weights", part.initial_weights);
  field("data_order", part.data_order);
  field("data", part.data);
}

template <FieldsOf<MemoryRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("planned_bytes", part.planned_bytes);
  field("evaluation_planned_bytes", part.evaluation_planned_bytes);
  field("data_bytes", part.data_bytes);
  field("peak_rss_bytes", part.peak_rss_bytes);
}

template <FieldsOf<CheckpointsRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("written", part.written);
  field("time_ns", part.time_ns);
}

template <FieldsOf<Resumed> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("run_id", part.run_id);
  field("from", part.from);
  field("examples", part.examples);
}

template <FieldsOf<HardwareRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("link_bytes_per_s", part.link_bytes_per_s);
  field("core_bytes_per_s", part.core_bytes_per_s);
  field("latency_ns", part.latency_ns);
  field("server_cores", part.server_cores);
  field("compute_times", part.compute_times);
  field("spread", part.spread);
  field("cpu", part.cpu);
  field("queue_bytes", part.queue_bytes);
  field("machine_cores", part.machine_cores);
}

template <FieldsOf<Simulated> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("mode", part.mode);
  field("cluster", part.cluster);
  field("calibration", part.calibration);
  field("source", part.source);
  field("hosts", part.hosts);
  field("events", part.events);
  field("hardware", part.hardware);
}

template <FieldsOf<LoadRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("before", part.before);
  field("after", part.after);
}

template <FieldsOf<LossSample> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("examples", part.examples);
  field("loss", part.loss);
}

template <FieldsOf<MachineFacts> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("cpu", part.cpu);
  field("isa", part.isa);
  field("cores_available", part.cores_available);
  field("cores_physical", part.cores_physical);
  field("cores_used", part.cores_used);
  field("cpu_quota", part.cpu_quota);
  field("memory_bytes", part.memory_bytes);
  field("gpus", part.gpus);
  field("driver", part.driver);
  field("link", part.link);
}

template <FieldsOf<SoftwareFacts> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("compiler", part.compiler);
  field("onednn", part.onednn);
  field("open_mpi", part.open_mpi);
  field("grpc", part.grpc);
  field("cuda", part.cuda);
  field("cudnn", part.cudnn);
  field("nccl", part.nccl);
  field("git_commit", part.git_commit);
  field("dirty", part.dirty);
}

template <FieldsOf<Record> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("run_id", part.run_id);
  field("timestamp", part.timestamp);
  field("cell", part.cell);
  field("status", part.status);
  field("failure", part.failure);
  field("target", part.target);
  field("training_time_to_target_ns", part.training_time_to_target_ns);
  field("full_time_to_target_ns", part.full_time_to_target_ns);
  field("result_time_to_target_ns", part.result_time_to_target_ns);
  field("examples_to_target", part.examples_to_target);
  field("evaluations", part.evaluations);
  field("examples_per_s", part.examples_per_s);
  field("step_time_ns", part.step_time_ns);
  field("step_examples", part.step_examples);
  field("workers", part.workers);
  field("clocks", part.clocks);
  field("lost_updates", part.lost_updates);
  field("lost_processes", part.lost_processes);
  field("graph", part.graph);
  field("checksums", part.checksums);
  field("setup_ns", part.setup_ns);
  field("data_weights_ns", part.data_weights_ns);
  field("warmup_ns", part.warmup_ns);
  field("training_ns", part.training_ns);
  field("full_ns", part.full_ns);
  field("memory", part.memory);
  field("kernels", part.kernels);
  field("checkpoints", part.checkpoints);
  field("resumed", part.resumed);
  field("simulated", part.simulated);
  field("losses", part.losses);
  field("command", part.command);
  field("machine", part.machine);
  field("software", part.software);
  field("environment", part.environment);
  field("load", part.load);
}

}  // namespace regatta
