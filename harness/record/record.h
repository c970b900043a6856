// SPDX-License-Identifier: Apache-2.0
//
// The record of one run, as defined by results/schema.json: each field has a field there with the
// same name and unit, and a test compares the two. A record becomes one line of JSON; an empty
// std::optional becomes null. Times are in nanoseconds, sizes in bytes.
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
  double factor = 1;  ///< multiplies its compute time
};

/// The configuration of a run: one cell of the matrix, with its seed.
struct Cell {
  std::string workload;
  std::int64_t recipe = 1;  ///< number of the workload's recipe; 1 in older records
  std::string dataset;
  std::optional<std::string> unverified_data;  ///< digest of files that others published
  std::string strategy;
  OptionValues options;  ///< of the strategy: every option with a value, given or default
  std::int64_t workers = 1;
  std::int64_t stages = 1;
  std::string device = "cpu";
  std::optional<std::string> cuda_graph;    ///< a step is one CUDA graph: on, off; empty on CPUs
  std::optional<std::string> cudnn_engine;  ///< rule of choice: timed, heuristic; empty on CPUs
  std::string dtype = "f32";
  std::string fusion = "on";      ///< normalisation, activation, pooling, add as one op: on, off
  std::string winograd = "off";   ///< some convolutions use Winograd's algorithm: on, off
  std::int64_t global_batch = 0;  ///< Units: examples
  std::optional<std::int64_t> normalization_group;  ///< empty: the workload's. Units: examples
  double rate_scale = 1;                            ///< factor on the recipe's learning rate
  std::optional<std::int64_t> steps;                ///< length of the run, if given in steps
  std::optional<double> epochs;                     ///< or in epochs; both empty: the workload's
  std::string evaluate = "often";                   ///< or only at the `end`
  std::int64_t processes = 1;
  std::int64_t threads_per_worker = 1;
  bool oversubscribed = false;       ///< more threads than cores
  std::optional<std::int64_t> gpus;  ///< used by workers; empty on CPUs
  bool shared_gpu = false;           ///< workers share a GPU: the run does not measure scaling
  std::vector<Straggler> straggler;  ///< workers slowed down on purpose
  std::uint64_t seed = 0;
};

enum class Status {
  Reached,  ///< the target
  Missed,   ///< the target, although the run reached its end
  Failed,   ///< the run could not go on; `failure` has the reason
};

/// Returns `reached`, `missed` or `failed`.
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
  std::int64_t result_time_ns = 0;  ///< result clock; 0 in older records
  double loss = 0;
  double metric = 0;
  double parameter_norm = 0;  ///< Euclidean, of all parameters; 0 in older records
};

struct StepTimes {
  std::int64_t count = 0;
  std::int64_t min = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

/// Examples in the gradients of a step, over all completed steps.
struct StepExamples {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// Statistics of time spans. Quantiles are exact to within 6 %, the others exact.
struct SpanRecord {
  std::int64_t count = 0;
  std::int64_t sum = 0;
  std::int64_t p50 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

/// Times of pushed gradients at a server, by its clock.
struct PushRecord {
  SpanRecord barrier_ns;  ///< from the first worker's complete push of a step to the last's
  SpanRecord queue_ns;    ///< from a message's last chunk until the server's lane takes it
  SpanRecord wire_ns;     ///< from a message's first chunk to its last
};

/// The times, traffic and updates of one worker, over all its steps.
struct WorkerRecord {
  std::int64_t rank = 0;  ///< of its process
  std::string host;       ///< of the worker; empty in older records
  std::string place;      ///< `replica0`, `replica1.stage2`, `host`
  std::int64_t replica = 0;
  std::int64_t steps = 0;
  std::int64_t compute_ns = 0;
  std::int64_t delay_ns = 0;               ///< a straggler's delays, a part of compute_ns
  std::optional<double> straggler_factor;  ///< true factor on its compute time; empty: no delay
  std::int64_t exposed_communication_ns = 0;
  std::int64_t wait_ns = 0;
  std::int64_t bubble_ns = 0;  ///< waiting for other stages of its replica, a part of wait_ns
  std::int64_t input_ns = 0;
  std::int64_t update_ns = 0;
  std::int64_t planned_bytes = 0;       ///< for its variables and values; 0 in older records
  std::int64_t process_peak_bytes = 0;  ///< peak of its process; 0 in older records
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::vector<std::int64_t> staleness_histogram;    ///< element s: updates that missed s versions
  std::optional<SpanRecord> age_ns;                 ///< from read to update; empty without updates
  std::int64_t updates_applied = 0;                 ///< with its gradients
  std::int64_t updates_dropped = 0;                 ///< late pushes, with backup workers
  std::optional<SpanRecord> late_ns;                ///< behind the first worker; empty if unknown
  std::optional<std::int64_t> late_uncertainty_ns;  ///< of each such span, either way
  std::optional<SpanRecord> exchange_wait_ns;       ///< in collectives; empty without them
  std::optional<PushRecord> pushes;                 ///< of a server; otherwise empty
};

/// Compares the clock of a process with that of process 0, for lateness.
struct ClockRecord {
  std::int64_t rank = 0;
  std::int64_t offset_ns = 0;  ///< process 0's clock minus this one, before the first step
  std::int64_t drift_ppb = 0;  ///< gain of process 0's clock since. Units: parts per billion
  std::int64_t error_ns = 0;   ///< bound on an offset's error, either way
};

/// One all_reduce of a step.
struct SumRecord {
  std::string algorithm;
  std::optional<std::string> torus;  ///< columns by rows, `4x2`; empty for other algorithms
  std::int64_t members = 1;
  std::int64_t bytes = 0;  ///< of a member's buffer
};

struct GraphRecord {
  std::int64_t nodes = 0;
  std::vector<std::int64_t> nodes_per_process;  ///< after partition, by rank
  std::int64_t models = 1;  ///< number trained apart; an evaluation is the mean over them
  std::int64_t build_ns = 0;
  double bytes_per_step_computed = 0;     ///< from the graph, mean over the steps of a whole run
  double bytes_per_step_counted = 0;      ///< at the transports, mean over steps
  std::optional<double> shard_imbalance;  ///< largest server / mean; empty without servers
  std::vector<SumRecord> all_reduces;     ///< in their order; empty in older records
  std::optional<std::string> picked_by;   ///< digest of the costs; empty if algorithms were named
};

/// Checksums that all runs of one workload, batch and seed share; sixteen hexadecimal digits each.
/// `data_order` digests the input that kernels consumed (kernels/graph/data_order.h), by the step
/// of the loop that consumed it. With backup workers or loops that step apart it holds only for its
/// own run, because another run may have taken more steps of one loop.
struct Checksums {
  std::string initial_weights;
  std::string data_order;  ///< empty in records of version 1, where it had another meaning
  std::string data;        ///< of training and test examples; 32 digits, empty in older records
};

struct MemoryRecord {
  std::int64_t planned_bytes = 0;             ///< for training: arenas and variables
  std::int64_t evaluation_planned_bytes = 0;  ///< the same for evaluation
  std::int64_t data_bytes = 0;                ///< both parts of the data set
  std::int64_t peak_rss_bytes = 0;
};

/// The checkpoints of the whole run, including those before a resume.
struct CheckpointsRecord {
  std::int64_t written = 0;  ///< including the one before the first step
  std::int64_t time_ns = 0;  ///< to write them
};

/// The checkpoint from which a run was resumed.
struct Resumed {
  std::string run_id;         ///< of the original run
  std::string from;           ///< the argument of --resume
  std::int64_t examples = 0;  ///< trained on before it
};

/// A simulated cluster, and the source of its kernels' costs. The last two fields are empty in
/// older records.
struct HardwareRecord {
  std::optional<double>
      link_bytes_per_s;  ///< of a host's narrowest link, either way; empty: no limit
  std::optional<double> core_bytes_per_s;  ///< of the link that all hosts share; empty: no limit
  double latency_ns = 0;                   ///< from one host to another
  std::int64_t server_cores = 1;           ///< of a parameter server
  std::string compute_times;               ///< kind of their distribution: constant, gamma, ...
  double spread = 0;                       ///< of that distribution
  std::string cpu;                         ///< the processor of the calibration
  std::optional<double> queue_bytes;       ///< the queue of a flow before a full link
  std::optional<std::int64_t>
      machine_cores;  ///< of a machine, dealt to hosts in turn; 0: hosts have cores of their own
};

/// A run in virtual time: its cluster, and the origin of its costs.
struct Simulated {
  std::string mode;         ///< `time`: no computation; `train`: kernels ran in virtual order
  std::string cluster;      ///< digest of the cluster's file, sixteen hexadecimal digits
  std::string calibration;  ///< digest of its calibration
  std::string source;       ///< of the calibration, as it describes itself
  std::int64_t hosts = 0;
  std::int64_t events = 0;                 ///< of the simulation
  std::optional<HardwareRecord> hardware;  ///< empty in older records
};

/// Numbers of threads of other programs that ran or waited for a core, by system/machine.h.
struct LoadRecord {
  double before = 0;  ///< before the set-up
  double after = 0;   ///< after the last evaluation
};

struct LossSample {
  std::int64_t examples = 0;
  double loss = 0;
};

struct Record {
  static constexpr std::int64_t kSchema = 11;  ///< the version that is written; older ones are read

  std::string run_id;
  std::string timestamp;  ///< start in UTC, like 2025-01-31T12:00:00Z
  Cell cell;
  Status status = Status::Missed;
  std::optional<Failure> failure;
  Target target;
  std::optional<std::int64_t> training_time_to_target_ns;  ///< this and the next three: if reached
  std::optional<std::int64_t> full_time_to_target_ns;
  std::optional<std::int64_t> result_time_to_target_ns;  ///< empty in older records
  std::optional<std::int64_t> examples_to_target;
  std::vector<Evaluation> evaluations;
  double examples_per_s = 0;
  StepTimes step_time_ns;
  std::optional<StepExamples> step_examples;  ///< empty without backup workers
  std::vector<WorkerRecord> workers;
  std::vector<ClockRecord> clocks;          ///< empty if none were compared
  std::int64_t lost_updates = 0;            ///< overwritten, counted on a canary per variable
  std::vector<std::string> lost_processes;  ///< with reasons; the run continued without them
  GraphRecord graph;
  Checksums checksums;
  std::int64_t setup_ns = 0;
  std::int64_t data_weights_ns = 0;  ///< a part of setup_ns: initial weights computed from the data
  std::int64_t warmup_ns = 0;
  std::int64_t training_ns = 0;
  std::int64_t full_ns = 0;
  MemoryRecord memory;
  std::vector<KernelChoice> kernels;  ///< engines and algorithms chosen on GPUs
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

/// Separates runs in virtual time from real ones, so that no ranking mixes them.
enum class Kept : std::uint8_t { Real, Simulated };
/// The name of the file in a folder of records.
const char* file_of(Kept kept);

/// Whether the run failed because its machines were taken back.
bool is_cancelled(const Record& record);

/// Whether the run has no result for its cell and must be repeated: cancelled, or failed before its
/// first step.
bool is_to_run_again(const Record& record);

/// Lists name and JSON value of each field of a cell.
std::vector<std::pair<std::string, std::string>> lines_of(const Cell& cell);

/// Formats the record as one line of JSON, newline included. Bytes that are not UTF-8 become
/// U+FFFD. Throws: RunError(Diverged) that names the field, if a number is not finite.
std::string to_json_line(const Record& record);

}  // namespace regatta
