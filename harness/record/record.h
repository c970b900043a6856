// SPDX-License-Identifier: Apache-2.0
//
// The record of one run. results/schema.json defines each field under the same name and with the
// same unit; a test compares the two. A record is written as one line of JSON, in which an empty
// std::optional is null. Times are in nanoseconds, sizes in bytes.
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

/// A worker slowed down on purpose.
struct Straggler {
  std::int64_t worker = 0;
  double factor = 1;  ///< factor on the worker's compute time
};

/// The configuration of a run: one cell of the matrix, with its seed.
struct Cell {
  std::string workload;
  std::int64_t recipe = 1;  ///< number of the workload's recipe; 1 in older records
  std::string dataset;
  std::optional<std::string> unverified_data;  ///< digest of files that others published
  std::string strategy;
  OptionValues options;  ///< the strategy's options that have a value, given or default
  std::int64_t workers = 1;
  std::int64_t stages = 1;
  std::string device = "cpu";
  std::optional<std::string> cuda_graph;    ///< each step is one CUDA graph: on, off; empty on CPUs
  std::optional<std::string> cudnn_engine;  ///< the engine rule: timed, heuristic; empty on CPUs
  std::string dtype = "f32";
  std::string fusion = "on";      ///< normalisation, activation, pooling, add in one op: on, off
  std::string winograd = "off";   ///< some convolutions use Winograd's algorithm: on, off
  std::int64_t global_batch = 0;  ///< Units: examples
  std::optional<std::int64_t> normalization_group;  ///< empty: the workload's. Units: examples
  double rate_scale = 1;                            ///< factor on the recipe's learning rate
  std::optional<std::int64_t> steps;                ///< length of the run if it was given in steps
  std::optional<double> epochs;    ///< the same in epochs; both empty: the workload's length
  std::string evaluate = "often";  ///< or `end`: evaluated only at the end
  std::int64_t processes = 1;
  std::int64_t threads_per_worker = 1;
  bool oversubscribed = false;       ///< a host has more compute threads than cores
  std::optional<std::int64_t> gpus;  ///< number of GPUs that workers use; empty on CPUs
  bool shared_gpu = false;           ///< workers share a GPU: the run does not measure scaling
  std::vector<Straggler> straggler;  ///< workers slowed down on purpose
  std::uint64_t seed = 0;
};

enum class Status {
  Reached,  ///< the run reached its target
  Missed,   ///< the run ended without reaching its target
  Failed,   ///< the run could not continue; `failure` has the reason
};

/// Returns `reached`, `missed` or `failed`.
std::string_view to_string(Status status);

struct Failure {
  std::string kind;  ///< to_string(ErrorKind)
  std::string text;  ///< one line: the error and its fix
};

struct Target {
  std::string metric;  ///< `accuracy` (percent, reached at or above) or `loss` (at or below)
  double value = 0;
};

/// An evaluation on the held-out examples.
struct Evaluation {
  std::int64_t examples = 0;          ///< number trained on before
  double epoch = 0;                   ///< the same in passes over the training set
  std::int64_t training_time_ns = 0;  ///< on the training clock
  std::int64_t full_time_ns = 0;      ///< on the full clock
  std::int64_t result_time_ns = 0;    ///< on the result clock; 0 in older records
  double loss = 0;
  double metric = 0;          ///< the metric of the target
  double parameter_norm = 0;  ///< Euclidean norm of all parameters; 0 in older records
};

/// Times of the run's steps, each that of the slowest worker. Units: nanoseconds.
struct StepTimes {
  std::int64_t count = 0;
  std::int64_t min = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

/// Numbers of examples in the gradients that a step used, over all completed steps.
struct StepExamples {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// Statistics of time spans. `p50` and `p99` are exact to within 6 %, the others exact.
/// Units: nanoseconds.
struct SpanRecord {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t p50 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

/// Times of pushed gradients at a server, measured by the server's clock.
struct PushRecord {
  SpanRecord barrier_ns;  ///< from the first worker's complete push of a step to the last's
  SpanRecord queue_ns;    ///< from a message's last chunk until the server's lane takes it
  SpanRecord wire_ns;     ///< from a message's first chunk to its last
};

/// The times, traffic and updates of one worker, over all its steps.
struct WorkerRecord {
  std::int64_t rank = 0;  ///< rank of its process
  std::string host;       ///< name of its host; empty in older records
  std::string place;      ///< `replica0`, `replica1.stage2`, `host`
  std::int64_t replica = 0;
  std::int64_t steps = 0;
  std::int64_t compute_ns = 0;
  std::int64_t delay_ns = 0;               ///< a straggler's delays, a part of compute_ns
  std::optional<double> straggler_factor;  ///< measured factor on its compute time; empty: no delay
  std::int64_t exposed_communication_ns = 0;
  std::int64_t wait_ns = 0;
  std::int64_t bubble_ns = 0;  ///< waiting for other stages of the replica, a part of wait_ns
  std::int64_t input_ns = 0;
  std::int64_t update_ns = 0;
  std::int64_t planned_bytes = 0;       ///< for variables and values; 0 in older records
  std::int64_t process_peak_bytes = 0;  ///< peak memory of its process; 0 in older records
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::vector<std::int64_t> staleness_histogram;  ///< element s: updates that missed s versions
  std::optional<SpanRecord> age_ns;   ///< from a parameter's read to its update; empty: not counted
  std::int64_t updates_applied = 0;   ///< updates that used its gradients
  std::int64_t updates_dropped = 0;   ///< late pushes that were dropped, with backup workers
  std::optional<SpanRecord> late_ns;  ///< time after the first worker's arrival; empty: unknown
  std::optional<std::int64_t> late_uncertainty_ns;  ///< bound on the error of each span in late_ns
  std::optional<SpanRecord> exchange_wait_ns;       ///< waiting in collectives; empty without them
  std::optional<PushRecord> pushes;                 ///< at a server; empty for other workers
};

/// The clock of a process compared with that of process 0, so that lateness can be computed.
struct ClockRecord {
  std::int64_t rank = 0;
  std::int64_t offset_ns = 0;  ///< clock of process 0 minus this clock, before the first step
  std::int64_t drift_ppb = 0;  ///< rate at which the offset grows. Units: parts per billion
  std::int64_t error_ns = 0;   ///< bound on the error of an offset, in either direction
};

/// One all_reduce of a step: the sum of one bucket over workers.
struct SumRecord {
  std::string algorithm;
  std::optional<std::string> torus;  ///< columns by rows, `4x2`; empty for other algorithms
  std::int64_t members = 1;          ///< number of workers that sum
  std::int64_t bytes = 0;            ///< size of a member's buffer
};

struct GraphRecord {
  std::int64_t nodes = 0;
  std::vector<std::int64_t> nodes_per_process;  ///< after partition, by rank
  std::int64_t models = 1;                      ///< trained separately; an evaluation is their mean
  std::int64_t build_ns = 0;
  double bytes_per_step_computed = 0;     ///< from the graph, mean over the steps
  double bytes_per_step_counted = 0;      ///< at the transports, mean over the steps
  std::optional<double> shard_imbalance;  ///< largest server / mean; empty without servers
  std::vector<SumRecord> all_reduces;     ///< in the step's order; empty in older records
};

/// Checksums that are equal for all runs of one workload, batch, length and seed, in hexadecimal
/// digits: 16, or 32 for `data`. `data_order` covers the examples that kernels consumed in each
/// step (kernels/data/data_order.h). It differs from run to run if workers take steps
/// independently of each other, or with backup workers: the workers' numbers of steps then differ.
struct Checksums {
  std::string initial_weights;
  std::string data_order;  ///< empty in records of version 1, where it had another meaning
  std::string data;        ///< training and test examples; empty in older records
};

/// Main memory of the run. Units: bytes.
struct MemoryRecord {
  std::int64_t planned_bytes = 0;             ///< for training: arenas and variables
  std::int64_t evaluation_planned_bytes = 0;  ///< the same for evaluation
  std::int64_t data_bytes = 0;                ///< training and test examples
  std::int64_t peak_rss_bytes = 0;            ///< peak resident set size of the process
};

/// The checkpoints of the whole run, including those before a resume.
struct CheckpointsRecord {
  std::int64_t written = 0;  ///< including the one before the first step
  std::int64_t time_ns = 0;  ///< time to write all of them
};

/// The checkpoint from which a run was resumed.
struct Resumed {
  std::string run_id;         ///< ID of the original run
  std::string from;           ///< the argument of --resume
  std::int64_t examples = 0;  ///< number trained on before the checkpoint
};

/// The hardware of a simulated cluster, and the processor whose costs its kernels have.
/// `queue_bytes` and `machine_cores` are empty in older records.
struct HardwareRecord {
  std::optional<double> link_bytes_per_s;  ///< narrowest link of a host; empty: no limit
  std::optional<double> core_bytes_per_s;  ///< link that all hosts share; empty: no limit
  double latency_ns = 0;                   ///< in one direction between two hosts
  std::int64_t server_cores = 1;           ///< cores of each parameter server
  std::string compute_times;               ///< distribution of compute times: constant, gamma, ...
  double spread = 0;                       ///< of the distribution, relative to its mean
  std::string cpu;                         ///< the processor whose costs the kernels have
  std::optional<double> queue_bytes;       ///< bytes that a flow queues at a full link
  /// Number of cores of the machine whose cores the hosts get in turn; 0: each host has its own.
  std::optional<std::int64_t> machine_cores;
};

/// The cluster of a run in virtual time, and the origin of its kernels' costs.
struct Simulated {
  std::string mode;         ///< `time`: no computation; `train`: kernels ran in virtual order
  std::string cluster;      ///< digest of the cluster's file, sixteen hexadecimal digits
  std::string calibration;  ///< digest of the file of kernels' costs
  std::string source;       ///< the origin of the costs, as their file describes it
  std::int64_t hosts = 0;   ///< number of hosts in the cluster
  std::int64_t events = 0;  ///< number of events that were simulated
  std::optional<HardwareRecord> hardware;  ///< empty in older records
};

/// Mean numbers of threads of other programs that ran or waited for a core (system/machine.h).
struct LoadRecord {
  double before = 0;  ///< before the set-up
  double after = 0;   ///< after the last evaluation
};

/// A sample of the training loss.
struct LossSample {
  std::int64_t examples = 0;  ///< number trained on before
  double loss = 0;            ///< mean over one global batch
};

struct Record {
  static constexpr std::int64_t kSchema = 12;  ///< version that is written; older ones can be read

  std::string run_id;
  std::string timestamp;  ///< start of the run in UTC: 2025-01-31T12:00:00Z
  Cell cell;
  Status status = Status::Missed;
  std::optional<Failure> failure;
  Target target;
  /// Clocks and examples at the evaluation that reached the target; empty unless Reached.
  std::optional<std::int64_t> training_time_to_target_ns;
  std::optional<std::int64_t> full_time_to_target_ns;
  std::optional<std::int64_t> result_time_to_target_ns;  ///< also empty in older records
  std::optional<std::int64_t> examples_to_target;
  std::vector<Evaluation> evaluations;
  double examples_per_s = 0;
  StepTimes step_time_ns;
  std::optional<StepExamples> step_examples;  ///< empty without backup workers
  std::vector<WorkerRecord> workers;          ///< one per worker
  std::vector<ClockRecord> clocks;            ///< one per process; empty if not compared
  std::int64_t lost_updates = 0;  ///< overwritten updates, counted on one canary per variable
  std::vector<std::string> lost_processes;  ///< with reasons; the run continued without them
  GraphRecord graph;
  Checksums checksums;
  std::int64_t setup_ns = 0;
  std::int64_t data_weights_ns = 0;  ///< a part of setup_ns: initial weights computed from the data
  std::int64_t warmup_ns = 0;
  std::int64_t training_ns = 0;
  std::int64_t full_ns = 0;
  MemoryRecord memory;
  std::vector<KernelChoice> kernels;  ///< engines and algorithms that were chosen on GPUs
  CheckpointsRecord checkpoints;
  std::optional<Resumed> resumed;
  std::optional<Simulated> simulated;  ///< empty for a real run, like all older records
  std::vector<LossSample> losses;      ///< samples during training
  std::string command;                 ///< the exact command line
  MachineFacts machine;
  SoftwareFacts software;
  std::map<std::string, std::string> environment;
  std::optional<LoadRecord> load;  ///< empty in older records and in virtual time
};

/// The kind of runs that a file of records holds. Real runs and runs in virtual time are in
/// separate files, so that no ranking mixes them.
enum class Kept : std::uint8_t { Real, Simulated };
/// Returns the name of the file for this kind of runs: `records.jsonl` or `simulated.jsonl`.
const char* file_of(Kept kept);

/// Whether the run failed because it was cancelled: the scheduler took its machines back.
bool is_cancelled(const Record& record);

/// Whether the run must be repeated, because it gave no result for its cell: it was cancelled, or
/// failed before its first step.
bool is_to_run_again(const Record& record);

/// Lists the name and the value, as JSON text, of each field of a cell.
std::vector<std::pair<std::string, std::string>> lines_of(const Cell& cell);

/// Formats the record as one line of JSON, with a newline at its end. Bytes that are not UTF-8
/// become U+FFFD. Throws: RunError(Diverged) if a number is not finite; the text has its field.
std::string to_json_line(const Record& record);

}  // namespace regatta
