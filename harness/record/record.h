// SPDX-License-Identifier: Apache-2.0
//
// The record of one run. record_fields.h describes each field; results/schema.json is generated
// from it. A record is written as one line of JSON, in which an empty std::optional is null. Times
// are in nanoseconds, sizes in bytes. Fields that an older record lacks keep their defaults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/record/cell_record.h"
#include "harness/system/machine.h"
#include "kernels/runtime/chosen_kernel.h"

namespace regatta::record {

enum class Status {
  Reached,  ///< the run reached its target
  Missed,   ///< the run ended without reaching its target
  Failed,   ///< the run could not continue; `failure` has the reason
};

/// Returns `reached`, `missed` or `failed`.
std::string_view to_string(Status status);

struct Failure {
  std::string kind;
  std::string text;
};

struct Target {
  std::string metric;
  double value = 0;
};

/// An evaluation on the held-out examples.
struct Evaluation {
  std::int64_t examples = 0;
  double epoch = 0;
  std::int64_t training_time_ns = 0;
  std::int64_t full_time_ns = 0;
  std::int64_t result_time_ns = 0;
  double loss = 0;
  double metric = 0;
  double parameter_norm = 0;
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

/// The speed of a run relative to the peak of its hardware.
struct UtilizationRecord {
  double mfu = 0;  ///< model FLOPs utilisation
  double peak_flops_per_s = 0;
  std::string peak_of;
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
  SpanRecord barrier_ns;
  SpanRecord queue_ns;
  SpanRecord wire_ns;
};

/// The times, traffic and updates of one worker, over all its steps.
struct WorkerRecord {
  std::int64_t rank = 0;
  std::string host;
  std::string place;
  std::int64_t replica = 0;
  std::int64_t steps = 0;
  std::int64_t compute_ns = 0;
  std::int64_t delay_ns = 0;
  std::optional<double> straggler_factor;
  std::int64_t exposed_communication_ns = 0;
  std::int64_t wait_ns = 0;
  std::int64_t bubble_ns = 0;
  std::int64_t input_ns = 0;
  std::int64_t update_ns = 0;
  std::int64_t planned_bytes = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t slot_bytes = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t gradient_bytes = 0;
  std::int64_t process_peak_bytes = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  std::vector<std::int64_t> staleness_histogram;
  std::optional<SpanRecord> age_ns;
  std::int64_t updates_applied = 0;
  std::int64_t updates_dropped = 0;
  std::optional<SpanRecord> late_ns;
  std::optional<std::int64_t> late_uncertainty_ns;
  std::optional<SpanRecord> exchange_wait_ns;
  std::optional<PushRecord> pushes;
};

/// Offset and drift of a process's clock from process 0's, for computing lateness.
struct ClockRecord {
  std::int64_t rank = 0;
  std::int64_t offset_ns = 0;
  std::int64_t drift_ppb = 0;
  std::int64_t error_ns = 0;
};

/// One all_reduce of a step: the sum of one bucket over workers.
struct SumRecord {
  std::string algorithm;
  std::optional<std::string> torus;
  std::int64_t members = 1;
  std::optional<std::string> between;
  std::int64_t bytes = 0;
};

struct GraphRecord {
  std::int64_t nodes = 0;
  std::vector<std::int64_t> nodes_per_process;
  std::int64_t models = 1;
  std::int64_t build_ns = 0;
  double bytes_per_step_computed = 0;
  double bytes_per_step_counted = 0;
  std::optional<double> shard_imbalance;
  std::vector<SumRecord> all_reduces;
};

/// Checksums that are equal for all runs of one workload, batch, length and seed, in hexadecimal
/// digits: 16, or 32 for `data`. `data_order` covers the examples that kernels consumed in each
/// step (kernels/data/data_order.h). It differs from run to run if workers take steps
/// independently of each other, or with backup workers: the workers' numbers of steps then differ.
struct Checksums {
  std::string initial_weights;
  std::string data_order;
  std::string data;
};

/// Main memory of the run. Units: bytes.
struct MemoryRecord {
  std::int64_t planned_bytes = 0;
  std::int64_t evaluation_planned_bytes = 0;
  std::int64_t data_bytes = 0;
  std::int64_t peak_rss_bytes = 0;
};

/// The checkpoints of the whole run, including those before a resume.
struct CheckpointsRecord {
  std::int64_t written = 0;
  std::int64_t time_ns = 0;
};

/// The checkpoint from which a run was resumed.
struct Resumed {
  std::string run_id;
  std::string from;
  std::int64_t examples = 0;
};

/// The hardware of a simulated cluster, and the processor whose costs its kernels have.
/// `queue_bytes` and `machine_cores` are empty in older records.
struct HardwareRecord {
  std::optional<double> link_bytes_per_s;
  std::optional<double> core_bytes_per_s;
  double latency_ns = 0;
  std::int64_t server_cores = 1;
  std::string compute_times;
  double spread = 0;
  std::string cpu;
  std::optional<double> queue_bytes;
  std::optional<std::int64_t> machine_cores;
};

/// The cluster of a run in virtual time, and the origin of its kernels' costs.
struct Simulated {
  std::string mode;
  std::string cluster;
  std::string calibration;
  std::string source;
  std::int64_t hosts = 0;
  std::int64_t events = 0;
  std::optional<std::int64_t> places_per_built;
  std::optional<HardwareRecord> hardware;
};

/// Mean numbers of threads of other programs that ran or waited for a core (system/machine.h).
struct LoadRecord {
  double before = 0;
  double after = 0;
};

/// A sample of the training loss.
struct LossSample {
  std::int64_t examples = 0;
  double loss = 0;
};

/// The round of a run in a matrix that races until its question is decided (`--decide`).
struct Round {
  std::int64_t number = 1;
  double precision = 0;  ///< a cell's interval that is narrower needs no more runs; a share
};

/// Facts that another program told when it was ready.
struct ProgramRecord {
  std::string framework;
  std::map<std::string, std::string> versions;
  std::map<std::string, std::string> notes;
};

/// Relative differences of another program from `single`, over its first steps. Only the gradient's
/// is known of a strategy that is not synchronous.
struct ProofRecord {
  double gradient_difference = 0;
  std::optional<double> loss_difference;
  std::optional<double> parameter_difference;
};

struct Record {
  static constexpr std::int64_t kSchema = 18;  ///< version that is written; older ones can be read

  std::string run_id;
  std::string timestamp;
  Cell cell;
  std::optional<Round> round;
  Status status = Status::Missed;
  std::optional<Failure> failure;
  Target target;
  std::optional<std::int64_t> training_time_to_target_ns;
  std::optional<std::int64_t> full_time_to_target_ns;
  std::optional<std::int64_t> result_time_to_target_ns;
  std::optional<std::int64_t> examples_to_target;
  std::vector<Evaluation> evaluations;
  std::optional<double> bits_per_byte;
  double examples_per_s = 0;
  std::optional<std::int64_t> tokens_per_example;
  std::optional<double> tokens_per_s;
  double model_flops_per_step = 0;
  std::optional<UtilizationRecord> utilization;
  StepTimes step_time_ns;
  std::optional<StepExamples> step_examples;
  std::vector<WorkerRecord> workers;
  std::vector<ClockRecord> clocks;
  std::int64_t lost_updates = 0;
  std::vector<std::string> lost_processes;
  GraphRecord graph;
  Checksums checksums;
  std::int64_t setup_ns = 0;
  std::int64_t data_weights_ns = 0;
  std::int64_t warmup_ns = 0;
  std::int64_t training_ns = 0;
  std::int64_t full_ns = 0;
  MemoryRecord memory;
  std::vector<KernelChoice> kernels;
  CheckpointsRecord checkpoints;
  std::optional<Resumed> resumed;
  std::optional<Simulated> simulated;
  std::vector<LossSample> losses;
  std::string command;
  system::MachineFacts machine;
  system::SoftwareFacts software;
  std::map<std::string, std::string> environment;
  std::optional<LoadRecord> load;
  std::optional<std::int64_t> interface_bytes;
  std::optional<ProgramRecord> program;
  std::optional<ProofRecord> proof;
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

/// Formats a speed as `203 examples/s`; with tokens as `203 examples/s, 12996 tokens/s`.
std::string speed_text(double examples_per_s, const std::optional<double>& tokens_per_s);

/// Formats the record as one line of JSON, with a newline at its end. Bytes that are not UTF-8
/// become U+FFFD. Throws: RunError(Diverged) if a number is not finite; the text has its field.
std::string to_json_line(const Record& record);

}  // namespace regatta::record
