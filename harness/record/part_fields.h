// SPDX-License-Identifier: Apache-2.0
//
// Declares the fields of the parts of a record, as record_fields.h those of the record.
#pragma once

#include "harness/record/record.h"
#include "kernels/base/fields.h"

namespace regatta::record {

template <FieldsOf<Failure> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("kind", part.kind,
        About{.text = "Kind of error.",
              .values =
                  "usage|data|diverged|peer_lost|timeout|unsupported|io|device|cancelled|program"});
  field("text", part.text, About{.text = "One line with the error and its fix."});
}

template <FieldsOf<Target> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("metric", part.metric,
        About{.text = "Accuracy is reached at or above the value, loss at or below it.",
              .values = "accuracy|loss"});
  field("value", part.value, About{.text = "Accuracy in percent, or a loss.", .least = kAnyValue});
}

template <FieldsOf<Evaluation> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("examples", part.examples,
        About{.text = "Number of examples that all workers together trained on before."});
  field("epoch", part.epoch,
        About{.text = "The same number in passes over the training set.", .unit = "epochs"});
  field("training_time_ns", part.training_time_ns,
        About{.text = "Training clock, which excludes evaluation and checkpoints."});
  field("full_time_ns", part.full_time_ns,
        About{.text = "Full clock, which runs from start to stop of the run."});
  field("result_time_ns", part.result_time_ns,
        About{.text = "Result clock, which counts the same parts as the clock of the airbench "
                      "script: the initial weights computed from the data (data_weights_ns), the "
                      "training clock, and this one evaluation. 0 for the evaluation before "
                      "training, which also warms up the evaluator.",
              .since = 3});
  field("loss", part.loss,
        About{.text = "Mean loss over the held-out examples; 0 if another program told none.",
              .unit = "none",
              .least = kAnyValue});
  field(
      "metric", part.metric,
      About{.text = "The target's metric: accuracy in percent, or the loss.", .least = kAnyValue});
  field("parameter_norm", part.parameter_norm,
        About{.text = "Euclidean norm of all evaluated parameters.", .unit = "none", .since = 2});
}

template <FieldsOf<UtilizationRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("mfu", part.mfu,
        About{.text = "Model FLOPs utilisation: model FLOPs of an example times examples_per_s, "
                      "relative to the peak. Winograd's algorithm, which needs fewer operations "
                      "than the model is counted with, can bring it above 1.",
              .unit = "none",
              .above = 0});
  field("peak_flops_per_s", part.peak_flops_per_s,
        About{.text = "Peak of all cores or all GPUs that the run used, for cell.dtype.",
              .unit = "floating-point operations per second",
              .above = 0});
  field("peak_of", part.peak_of,
        About{.text = "Source of the peak: the GPU whose data sheet gives it, or measured, for a "
                      "product that all cores of process 0's host computed before and after the "
                      "run, whichever was faster, scaled to the cores of all hosts."});
}

template <FieldsOf<StepTimes> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("count", part.count, About{.text = "Number of steps measured."});
  field("min", part.min, About{.text = "Shortest.", .unit = "nanoseconds"});
  field("p50", part.p50, About{.text = "Median.", .unit = "nanoseconds"});
  field("p90", part.p90, About{.text = "90th percentile.", .unit = "nanoseconds"});
  field("p99", part.p99, About{.text = "99th percentile.", .unit = "nanoseconds"});
  field("max", part.max, About{.text = "Longest.", .unit = "nanoseconds"});
}

template <FieldsOf<StepExamples> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("count", part.count, About{.text = "Number of steps."});
  field("sum", part.sum, About{.text = "Number of examples applied.", .unit = "examples"});
  field("min", part.min, About{.text = "Number in the smallest step.", .unit = "examples"});
  field("max", part.max, About{.text = "Number in the largest step.", .unit = "examples"});
}

template <FieldsOf<ClockRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("rank", part.rank, About{.text = "Rank of the process."});
  field("offset_ns", part.offset_ns,
        About{.text = "Clock of process 0 minus this one, before the first step. Clocks of hosts "
                      "count from each host's start.",
              .least = kAnyValue});
  field("drift_ppb", part.drift_ppb,
        About{.text = "Rate at which the offset grew from the first comparison to the last; after "
                      "a short run mostly the errors of the two comparisons.",
              .unit = "parts per billion, or nanoseconds a second",
              .least = kAnyValue});
  field("error_ns", part.error_ns,
        About{.text = "Bound on the error of an offset, in either direction: half of the quickest "
                      "round trip, the largest over all comparisons. 0 for process 0, and on its "
                      "host unless the round trips contradict that a host has one clock."});
}

template <FieldsOf<SumRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("algorithm", part.algorithm,
        About{.text = "Algorithm of the sum: that of cell.options.all_reduce or, if an older "
                      "record has auto there, the one that was picked."});
  field("torus", part.torus,
        About{.text = "Columns by rows in the syntax of --torus; null for other algorithms.",
              .since = 10,
              .pattern = "^[1-9][0-9]*x[1-9][0-9]*$"});
  field("members", part.members, About{.text = "Number of workers that sum.", .least = 1});
  field("between", part.between,
        About{.text = "The coordinates in which the workers of the sum differ: such as replicas, "
                      "shards, or replicas and shards; null for one worker.",
              .since = 15});
  field("bytes", part.bytes, About{.text = "Size of a worker's bucket."});
}

template <FieldsOf<GraphRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("nodes", part.nodes,
        About{.text = "Number of nodes of the placed graph over all processes."});
  field("nodes_per_process", part.nodes_per_process,
        About{.text = "Number of nodes of each process's part after partition, by rank.",
              .each = "Number of nodes."});
  field("models", part.models,
        About{.text = "Number of models that are trained: one per replica if replicas exchange "
                      "nothing, else one. All take the same number of steps, and every evaluation "
                      "is the mean over them.",
              .since = 2,
              .least = 1});
  field("build_ns", part.build_ns,
        About{.text = "Time to build, rewrite, verify and partition the graph."});
  field("bytes_per_step_computed", part.bytes_per_step_computed,
        About{.text = "Bytes that all workers together send in a step, computed from the graph: "
                      "mean over the steps of a whole run.",
              .unit = "bytes"});
  field("bytes_per_step_counted", part.bytes_per_step_counted,
        About{.text = "The same number counted at the transport, mean over the run's steps.",
              .unit = "bytes"});
  field("shard_imbalance", part.shard_imbalance,
        About{.text = "Bytes of parameters of the server that holds most, divided by the mean over "
                      "servers; null without servers.",
              .unit = "none",
              .since = 2,
              .least = 1});
  field(
      "all_reduces", part.all_reduces,
      About{
          .text =
              "Sums of a step over workers, each an all_reduce of one bucket, in the step's order.",
          .since = 9,
          .each = "One sum."});
}

template <FieldsOf<Checksums> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("initial_weights", part.initial_weights,
        About{.text = "Checksum of every variable before the first step.",
              .pattern = "^([0-9a-f]{16})?$"});
  field(
      "data_order", part.data_order,
      About{.text = "Checksum of the examples that input kernels consumed, each with its step, its "
                    "place in the global batch and its augmentation (kernels/data/data_order.h). "
                    "Equal however the batches are dealt to workers. If workers step apart "
                    "(asynchronous strategies, independent, backup workers) it covers the steps "
                    "that each took, which differ from run to run.",
            .pattern = "^([0-9a-f]{16})?$"});
  field("data", part.data,
        About{.text = "Checksum of the training and test examples: MD5 over the digests of their "
                      "files, or over the examples that the program made.",
              .since = 2,
              .pattern = "^([0-9a-f]{32})?$"});
}

template <FieldsOf<MemoryRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("planned_bytes", part.planned_bytes,
        About{.text = "Memory planned for training before the run: variables, and tensors that "
                      "share memory if they do not live together."});
  field("evaluation_planned_bytes", part.evaluation_planned_bytes,
        About{.text = "Memory planned for evaluation: arenas and variables.", .since = 2});
  field("data_bytes", part.data_bytes,
        About{.text = "Size of both parts of the data set.", .since = 2});
  field("peak_rss_bytes", part.peak_rss_bytes,
        About{.text = "Peak resident set size of the process by the kernel's count. Beyond the "
                      "plan and the data there are the scratch memory of kernels, batches prepared "
                      "ahead, histories and code."});
}

template <FieldsOf<CheckpointsRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field(
      "written", part.written,
      About{
          .text =
              "Number of checkpoints with the one before the first step and one at each resume."});
  field("time_ns", part.time_ns,
        About{.text = "Time to write them, outside the training clock and, except for the one "
                      "before the first step, inside the full clock."});
}

template <FieldsOf<Resumed> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("run_id", part.run_id, About{.text = "ID of the original run."});
  field("from", part.from, About{.text = "The checkpoint in the words of --resume."});
  field("examples", part.examples,
        About{.text = "Number of examples trained on before the checkpoint."});
}

template <FieldsOf<LossSample> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("examples", part.examples, About{.text = "Number of examples trained on before."});
  field("loss", part.loss,
        About{.text = "Mean loss over one global batch.", .unit = "none", .least = kAnyValue});
}

template <FieldsOf<Round> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("number", part.number, About{.text = "Number of the round, from 1 on.", .least = 1});
  field("precision", part.precision,
        About{.text = "Half-width of a cell's interval, as a share, below which it needs no more "
                      "runs.",
              .unit = "none",
              .above = 0});
}

template <FieldsOf<ProgramRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("framework", part.framework, About{.text = "Its framework.", .pattern = ""});
  field("versions", part.versions, About{.text = "Versions of its libraries, by name."});
  field("notes", part.notes, About{.text = "Other facts, such as the time to compile, by name."});
}

template <FieldsOf<ProofRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("gradient_difference", part.gradient_difference,
        About{.text = "Difference of the norm of the first gradient.", .unit = "none"});
  field("loss_difference", part.loss_difference,
        About{.text = "Greatest difference of a loss; null if its strategy is not synchronous.",
              .unit = "none"});
  field("parameter_difference", part.parameter_difference,
        About{.text = "Difference of the norm of all parameters behind these steps; null like "
                      "loss_difference.",
              .unit = "none"});
}

}  // namespace regatta::record
