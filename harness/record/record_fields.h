// SPDX-License-Identifier: Apache-2.0
//
// Declares the fields of a record and of its parts (part_fields.h, ...) once, for the writer, the
// reader and the schema. for_each_field(part, field) calls field(name, member, About) for each
// member of `part`, in the order of the JSON; `field` may assign to members unless `part` is const.
#pragma once

#include "harness/record/machine_fields.h"
#include "harness/record/part_fields.h"
#include "harness/record/record.h"
#include "harness/record/worker_fields.h"
#include "kernels/base/fields.h"

namespace regatta::record {

template <FieldsOf<Record> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("run_id", part.run_id, About{.text = "ID that no other run has."});
  field(
      "timestamp", part.timestamp,
      About{.text = "Start of the run in UTC.", .pattern = R"(^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$)"});
  field("cell", part.cell,
        About{.text = "One cell of the matrix with its seed, as it was asked for."});
  field("round", part.round,
        About{.text = "Round of a matrix that races until its question is decided (--decide); null "
                      "where the number of runs was fixed before.",
              .since = 12});
  field("status", part.status,
        About{.text = "Whether the run reached the target, ended before it (missed), or could not "
                      "continue (failed).",
              .values = "reached|missed|failed"});
  field("failure", part.failure,
        About{.text = "Reason why a failed run could not continue; null for the others."});
  field("target", part.target, About{.text = "The value that decides the race."});
  field("training_time_to_target_ns", part.training_time_to_target_ns,
        About{.text = "Training clock at the first evaluation that reached the target; null unless "
                      "reached."});
  field("full_time_to_target_ns", part.full_time_to_target_ns,
        About{.text = "Full clock at that evaluation; null unless reached."});
  field("result_time_to_target_ns", part.result_time_to_target_ns,
        About{.text = "Result clock at that evaluation; null unless reached.", .since = 3});
  field("examples_to_target", part.examples_to_target,
        About{.text = "Number of examples trained on before that evaluation; null unless reached.",
              .unit = "examples"});
  field("evaluations", part.evaluations,
        About{.text = "Evaluations in the order of examples.",
              .each = "An evaluation on the held-out examples; of several models (graph.models) "
                      "each is evaluated, and this is the mean."});
  field("bits_per_byte", part.bits_per_byte,
        About{.text = "Loss of the last evaluation, divided by ln 2; null unless the examples are "
                      "sequences of bytes.",
              .unit = "bits",
              .since = 13});
  field("examples_per_s", part.examples_per_s,
        About{.text = "Training speed over the run, on the training clock."});
  field("tokens_per_example", part.tokens_per_example,
        About{.text = "Number of tokens of an example that is a sequence; null for other examples.",
              .unit = "tokens",
              .since = 13,
              .least = 1});
  field("tokens_per_s", part.tokens_per_s,
        About{.text = "The same speed in tokens; null if examples are not sequences.",
              .unit = "tokens per second",
              .since = 13});
  field("model_flops_per_step", part.model_flops_per_step,
        About{.text = "Floating-point operations that the model needs for a global batch, in "
                      "products of its forward and backward passes: two for a multiply-add, "
                      "however the strategy and the kernels compute them.",
              .unit = "floating-point operations",
              .since = 13});
  field("utilization", part.utilization,
        About{.text = "Speed relative to the peak of the hardware; null in virtual time, for a "
                      "model with less than 1e6 operations in a step, for GPUs without a known "
                      "peak, without a speed, and if the speed exceeds a peak measured beside "
                      "other programs.",
              .since = 13});
  field("step_time_ns", part.step_time_ns,
        About{.text = "Times of the run's steps, each that of the slowest worker."});
  field("step_examples", part.step_examples,
        About{.text = "With backup workers: numbers of examples whose gradients a step used, over "
                      "the run's steps; uneven shares of the batch make them differ. Null without.",
              .since = 2});
  field("workers", part.workers,
        About{.text = "One element for each worker.", .each = "One worker, over all its steps."});
  field("clocks", part.clocks,
        About{.text = "Clock of each process compared with that of process 0, if arrivals at "
                      "collectives are measured by several: the quickest of some round trips, as "
                      "in NTP, before the first step, at each checkpoint and at the end; in a "
                      "resumed run since the resume. Empty if no clocks were compared.",
              .since = 2,
              .each = "Clock of one process."});
  field("lost_updates", part.lost_updates,
        About{.text = "Number of updates of shared variables that another worker's write "
                      "overwrote, counted on one canary element beside each variable."});
  field("lost_processes", part.lost_processes,
        About{.text = "Processes without which the run continued (--continue-on-loss).",
              .since = 2,
              .each = "The process, and when and how it was lost."});
  field("graph", part.graph, About{.text = "The graph after the strategy's rewrite."});
  field("checksums", part.checksums,
        About{.text = "Hexadecimal checksums, equal for all runs of one workload, data set, batch, "
                      "length and seed; empty if the run failed before."});
  field("setup_ns", part.setup_ns,
        About{.text = "Time to load data and to build the graph and the kernels."});
  field("data_weights_ns", part.data_weights_ns,
        About{.text = "Part of setup_ns that computed initial weights from the data, such as "
                      "airbench94's whitening filters; close to 0 if the seed gives all weights.",
              .since = 3});
  field("warmup_ns", part.warmup_ns,
        About{.text = "Time of steps before the clocks start, whose effect is undone."});
  field("training_ns", part.training_ns, About{.text = "Training clock at the end of the run."});
  field("full_ns", part.full_ns,
        About{.text = "Full clock at the end of the run; of a resumed run the time until its "
                      "checkpoint and the time since the resume."});
  field("memory", part.memory, About{.text = "Main memory of the run."});
  field("kernels", part.kernels,
        About{.text = "Choices of an engine, an algorithm or an implementation for kernels of "
                      "training, made before the clock started, on GPUs. Replicas with equal "
                      "choices share one element.",
              .since = 2,
              .each = "The choice for the kernels of one node."});
  field("checkpoints", part.checkpoints,
        About{.text = "Checkpoints that the run wrote (--checkpoint-every), also before a resume.",
              .since = 2});
  field("resumed", part.resumed,
        About{.text = "Checkpoint from which the run was resumed (--resume); null for a run in one "
                      "piece. Clocks, evaluations, losses, steps, bytes and staleness cover the "
                      "whole run: their values at the checkpoint and all since the resume. The "
                      "times of set-up and warm-up are those of the resume.",
              .since = 2});
  field(
      "simulated", part.simulated,
      About{.text =
                "For a run in virtual time (--cluster), which is kept in simulated.jsonl: its "
                "cluster and the origin of the costs. Its times are virtual except for set-up and "
                "warm-up; evaluations and weights computed from the data took none. Memory, "
                "kernels and machine are those of the process that computed. Null for a real run.",
            .since = 5});
  field("losses", part.losses,
        About{.text = "Samples of the training loss.", .each = "One sample."});
  field("command", part.command, About{.text = "The exact command line."});
  field("machine", part.machine, About{.text = "The machine of the run."});
  field("software", part.software,
        About{.text = "The software of the run; null for libraries that the build lacks."});
  field("environment", part.environment,
        About{.text = "Environment variables that libraries read and that can change a "
                      "measurement, from a fixed list (harness/system/machine.cpp)."});
  field("load", part.load,
        About{.text = "Mean number of threads of other programs that ran or waited for a core, "
                      "over 20 samples in 20 ms; null in virtual time and if the kernel does not "
                      "report it. Ranks that were started by hand count before the run.",
              .unit = "threads",
              .since = 11});
  field("interface_bytes", part.interface_bytes,
        About{.text = "Bytes that all network interfaces of process 0's host sent while the full "
                      "clock ran, lo and traffic of other programs included; null in virtual time "
                      "and if the kernel does not report them.",
              .since = 16});
  field("program", part.program,
        About{.text = "Facts that another program told; null for Regatta's own runs and if it was "
                      "never ready.",
              .since = 16});
  field("proof", part.proof,
        About{.text = "Proof that another program computes the same as `single`: differences, as "
                      "shares, over its first steps; null without a proof.",
              .since = 16});
}

}  // namespace regatta::record
