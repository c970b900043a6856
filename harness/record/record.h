// SPDX-License-Identifier: Apache-2.0
//
// The record of one run, as results/schema.json defines it: one field here is one field there, of
// the same name and unit, and a test holds the two together. A record becomes one line of JSON;
// an empty std::optional becomes null. Times are in nanoseconds, sizes in bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/system/machine.h"
#include "kernels/runtime/chosen_kernel.h"
#include "strategies/option.h"

namespace regatta {

struct Straggler {
  std::int64_t worker = 0;
  double factor = 1;  ///< its compute time is multiplied by this
};

/// What was asked for: one cell of the matrix, with its seed.
struct Cell {
  std::string workload;
  std::string dataset;
  std::string strategy;
  OptionValues options;  ///< what the strategy declares, but for an option without a value
  std::int64_t workers = 1;
  std::int64_t stages = 1;
  std::string device = "cpu";
  std::optional<std::string> cuda_graph;    ///< steps are launched as one: on, off; empty on CPUs
  std::optional<std::string> cudnn_engine;  ///< chosen how: timed, heuristic; empty on CPUs
  std::string dtype = "f32";
  std::string fusion = "on";      ///< normalise, activate, pool and add as one op: on, off
  std::string winograd = "off";   ///< some convolutions go by Winograd's algorithm: on, off
  std::int64_t global_batch = 0;  ///< Units: examples
  std::optional<std::int64_t> normalization_group;  ///< empty: the workload's. Units: examples
  double rate_scale = 1;                            ///< factor on the recipe's learning rate
  std::optional<std::int64_t> steps;                ///< length of the run, where given in steps
  std::optional<double> epochs;                     ///< the same in epochs; neither: the workload's
  std::int64_t processes = 1;
  std::int64_t threads_per_worker = 1;
  bool oversubscribed = false;       ///< more threads than cores
  std::optional<std::int64_t> gpus;  ///< that workers are on; empty on CPUs
  bool shared_gpu = false;           ///< several workers on one GPU: says nothing of scaling
  std::vector<Straggler> straggler;  ///< workers slowed down on purpose
  std::uint64_t seed = 0;
};

enum class Status {
  Reached,  ///< the target
  Missed,   ///< the run ended before the target
  Failed,   ///< the run could not go on; `failure` says why
};

/// `reached`, `missed`, `failed`
std::string_view to_string(Status status);

struct Failure {
  std::string kind;  ///< to_string(ErrorKind)
  std::string text;
};

struct Target {
  std::string metric;  ///< `accuracy` (percent, reached at or above) or `loss` (at or below)
  double value = 0;
};

struct Evaluation {
  std::int64_t examples = 0;
  double epoch = 0;
  std::int64_t training_time_ns = 0;
  std::int64_t full_time_ns = 0;
  double loss = 0;
  double metric = 0;
};

struct StepTimes {
  std::int64_t count = 0;
  std::int64_t min = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

/// Of the steps that were completed.
struct StepExamples {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// Spans of time. Quantiles are known to within 6 %, the rest exactly.
struct SpanRecord {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t p50 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

/// What the gradients that workers send went through at a server.
struct PushRecord {
  SpanRecord barrier_ns;
  SpanRecord queue_ns;
  SpanRecord wire_ns;
};

/// Where one worker's time and bytes went, over all its steps.
struct WorkerRecord {
  std::int64_t rank = 0;  ///< of its process
  std::string place;      ///< `replica0`, `replica1.stage2`, `host`
  std::int64_t replica = 0;
  std::int64_t steps = 0;
  std::int64_t compute_ns = 0;
  std::int64_t exposed_communication_ns = 0;
  std::int64_t wait_ns = 0;
  std::int64_t input_ns = 0;
  std::int64_t update_ns = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::vector<std::int64_t> staleness_histogram;    ///< element s: updates that missed s versions
  std::optional<SpanRecord> age_ns;                 ///< of those; empty where there are none
  std::int64_t updates_applied = 0;                 ///< that hold its gradients
  std::int64_t updates_dropped = 0;                 ///< with backup workers, because they came late
  std::optional<SpanRecord> late_ns;                ///< empty where it is not known
  std::optional<std::int64_t> late_uncertainty_ns;  ///< of each of these spans, either way
  std::optional<SpanRecord> exchange_wait_ns;       ///< empty where there is no collective
  std::optional<PushRecord> pushes;                 ///< empty where none come
};

/// The clock of a process beside that of process 0, by which workers' arrivals are told.
struct ClockRecord {
  std::int64_t rank = 0;
  std::int64_t offset_ns = 0;  ///< what process 0's clock showed beyond it before the first step
  std::int64_t drift_ppb = 0;  ///< what that has gained since
  std::int64_t error_ns = 0;   ///< of an offset, at most, either way
};

struct GraphRecord {
  std::int64_t nodes = 0;
  std::vector<std::int64_t> nodes_per_process;  ///< after partition, by rank
  std::int64_t build_ns = 0;
  std::int64_t bytes_per_step_computed = 0;  ///< from the graph
  double bytes_per_step_counted = 0;         ///< at the transport, the mean over the steps
  std::optional<double> shard_imbalance;     ///< empty without servers
};

/// Equal for all runs of one workload and seed. Sixteen hexadecimal digits each.
struct Checksums {
  std::string initial_weights;
  std::string data_order;
};

struct MemoryRecord {
  std::int64_t planned_bytes = 0;             ///< tensors of training: arenas and variables
  std::int64_t evaluation_planned_bytes = 0;  ///< the same of evaluation
  std::int64_t data_bytes = 0;                ///< both parts of the data set
  std::int64_t peak_rss_bytes = 0;
};

/// Of the whole run, what came before it was resumed included.
struct CheckpointsRecord {
  std::int64_t written = 0;  ///< the one before the first step included
  std::int64_t time_ns = 0;  ///< that it took to write them
};

/// What a resumed run went on from.
struct Resumed {
  std::string run_id;  ///< of the run that began it
  std::string from;    ///< as --resume named it
  std::int64_t examples = 0;
};

struct LossSample {
  std::int64_t examples = 0;
  double loss = 0;
};

struct Record {
  static constexpr std::int64_t kSchema = 1;

  std::string run_id;
  std::string timestamp;  ///< of the start, UTC, as 2025-01-31T12:00:00Z
  Cell cell;
  Status status = Status::Missed;
  std::optional<Failure> failure;
  Target target;
  std::optional<std::int64_t> training_time_to_target_ns;  ///< these three only when reached
  std::optional<std::int64_t> full_time_to_target_ns;
  std::optional<std::int64_t> examples_to_target;
  std::vector<Evaluation> evaluations;
  double examples_per_s = 0;
  StepTimes step_time_ns;
  std::optional<StepExamples> step_examples;  ///< empty without backup workers
  std::vector<WorkerRecord> workers;
  std::vector<ClockRecord> clocks;          ///< empty where none were compared
  std::int64_t lost_updates = 0;            ///< of shared variables, by one canary element each
  std::vector<std::string> lost_processes;  ///< that the run went on without, and why
  GraphRecord graph;
  Checksums checksums;
  std::int64_t setup_ns = 0;
  std::int64_t warmup_ns = 0;
  std::int64_t training_ns = 0;
  std::int64_t full_ns = 0;
  MemoryRecord memory;
  std::vector<KernelChoice> kernels;  ///< where something was chosen: on GPUs
  CheckpointsRecord checkpoints;
  std::optional<Resumed> resumed;
  std::vector<LossSample> losses;  ///< of training
  std::string command;             ///< the exact command line
  MachineFacts machine;
  SoftwareFacts software;
  std::map<std::string, std::string> environment;
};

/// Each field of a cell by its name, with its value as JSON.
std::vector<std::pair<std::string, std::string>> lines_of(const Cell& cell);

/// The record as one line of JSON, newline included. Bytes that are not UTF-8 become U+FFFD.
/// Throws: RunError(Diverged) that names the field, when a number is not finite.
std::string to_json_line(const Record& record);

}  // namespace regatta
