// SPDX-License-Identifier: Apache-2.0
#include "harness/record/sample_record.h"

namespace regatta::record {
namespace {

Cell sample_cell() {
  return {.workload = "resnet9_thin",
          .recipe = 2,
          .dataset = "shapes",
          .strategy = "all_reduce",
          .program = ProgramCell{.name = "a", .digest = "0123456789abcdef", .strategy = "b"},
          .options = {{"all_reduce", "ring"}, {"bucket_bytes", 65'536}},
          .workers = 2,
          .winograd = "on",
          .global_batch = 512,
          .normalization_group = 16,
          .steps = {},
          .epochs = 0.5,
          .straggler = {{.worker = 1, .factor = 2.5}},
          .seed = 7};
}

system::MachineFacts sample_machine() {
  return {.cpu = "A CPU",
          .architecture = "x86_64",
          .isa = {"avx2", "avx512f"},
          .cores_available = 2,
          .cores_physical = 1,
          .cores_used = 2,
          .cpu_quota = 1.5,
          .memory_bytes = 8'000'000'000,
          .gpus = {"A GPU"},
          .driver = "580.1"};
}

system::SoftwareFacts sample_software() {
  return {.compiler = "GNU 12.2.0 Release native",
          .onednn = "2.6.3",
          .open_mpi = "4.1.4",
          .grpc = "1.51.1",
          .cuda = "13.0",
          .cudnn = "9.1",
          .nccl = "2.27",
          .git_commit = "0123456789abcdef0123456789abcdef01234567"};
}

}  // namespace

Record sample_record() {
  const SpanRecord spans{
      .count = 20, .sum = 2'000'000, .p50 = 90'000, .p99 = 240'000, .max = 250'000};
  const WorkerRecord worker{.host = "n1",
                            .place = "replica0",
                            .steps = 20,
                            .compute_ns = 1'500'000'000,
                            .delay_ns = 900'000'000,
                            .straggler_factor = 2.5,
                            .exposed_communication_ns = 40'000'000,
                            .wait_ns = 30'000'000,
                            .bubble_ns = 10'000'000,
                            .input_ns = 5'000'000,
                            .update_ns = 25'000'000,
                            .planned_bytes = 15'000'000,
                            .parameter_bytes = 4'000'000,
                            .slot_bytes = 4'000'000,
                            .activation_bytes = 5'000'000,
                            .gradient_bytes = 1'500'000,
                            .process_peak_bytes = 120'000'000,
                            .bytes_sent = 8'000'000,
                            .bytes_received = 8'000'000,
                            .staleness_histogram = {12, 8},
                            .age_ns = spans,
                            .updates_applied = 16,
                            .updates_dropped = 4,
                            .late_ns = spans,
                            .late_uncertainty_ns = 40'000,
                            .exchange_wait_ns = spans,
                            .pushes = PushRecord{spans, spans, spans}};
  WorkerRecord other = worker;
  other.place = "replica1";
  other.replica = 1;
  return {.run_id = "sample-reached",
          .timestamp = "2025-01-31T12:00:00Z",
          .cell = sample_cell(),
          .round = Round{.number = 2, .precision = 0.05},
          .status = Status::Reached,
          .target = {.metric = "accuracy", .value = 90},
          .training_time_to_target_ns = 1'600'000'000,
          .full_time_to_target_ns = 1'900'000'000,
          .result_time_to_target_ns = 1'850'000'000,
          .examples_to_target = 10'240,
          .evaluations = {{.loss = 2.3, .metric = 10, .parameter_norm = 31.5},
                          {.examples = 10'240,
                           .epoch = 1,
                           .training_time_ns = 1'600'000'000,
                           .full_time_ns = 1'900'000'000,
                           .result_time_ns = 1'850'000'000,
                           .loss = 0.3,
                           .metric = 91,
                           .parameter_norm = 32.25}},
          .bits_per_byte = 0.43,
          .examples_per_s = 6'400,
          .tokens_per_example = 64,
          .tokens_per_s = 409'600,
          .model_flops_per_step = 3e10,
          .utilization =
              UtilizationRecord{.mfu = 0.75, .peak_flops_per_s = 5e11, .peak_of = "measured"},
          .step_time_ns = {20, 78'000'000, 80'000'000, 84'000'000, 90'000'000, 91'000'000},
          .step_examples = StepExamples{.count = 20, .sum = 10'240, .min = 480, .max = 544},
          .workers = {worker, other},
          .clocks = {{.rank = 1, .offset_ns = -3'000, .drift_ppb = 200, .error_ns = 40'000}},
          .lost_processes = {"rank 2 (replica1, process 7 on vm) was lost after about 3 steps"},
          .graph = {.nodes = 120,
                    .nodes_per_process = {130},
                    .models = 2,
                    .build_ns = 2'000'000,
                    .bytes_per_step_computed = 800'000,
                    .bytes_per_step_counted = 800'000,
                    .shard_imbalance = 1.25,
                    .all_reduces = {{.algorithm = "torus",
                                     .torus = "2x1",
                                     .members = 2,
                                     .between = "replicas",
                                     .bytes = 65'536}}},
          .checksums = {.initial_weights = "0123456789abcdef",
                        .data_order = "fedcba9876543210",
                        .data = "00112233445566778899aabbccddeeff"},
          .setup_ns = 1'200'000'000,
          .data_weights_ns = 100'000'000,
          .warmup_ns = 160'000'000,
          .training_ns = 1'600'000'000,
          .full_ns = 1'900'000'000,
          .memory = {.planned_bytes = 30'000'000,
                     .evaluation_planned_bytes = 10'000'000,
                     .data_bytes = 15'000'000,
                     .peak_rss_bytes = 120'000'000},
          .kernels = {{.node = "all_reduce conv1", .choice = "NCCL 2.28.9, held to its ring"}},
          .checkpoints = {.written = 3, .time_ns = 40'000'000},
          .resumed = Resumed{.run_id = "sample-begun",
                             .from = "out/checkpoints/sample-begun",
                             .examples = 5'120},
          .losses = {{.examples = 0, .loss = 2.31}, {.examples = 5'120, .loss = 1.1}},
          .command = "regatta run --workload resnet9_thin --strategy all_reduce --workers 2",
          .machine = sample_machine(),
          .software = sample_software(),
          .environment = {{"OMP_NUM_THREADS", "1"}},
          .load = LoadRecord{.before = 1.3, .after = 0.2},
          .interface_bytes = 90'000,
          .program = ProgramRecord{.framework = "pytorch",
                                   .versions = {{"torch", "2.15.0"}},
                                   .notes = {{"compile", "41 s"}}},
          .proof = ProofRecord{
              .gradient_difference = 1e-7, .loss_difference = 2e-6, .parameter_difference = 1e-8}};
}

Record sample_simulated_record() {
  Record record = sample_record();
  record.simulated = Simulated{.mode = "time",
                               .cluster = "0123456789abcdef",
                               .calibration = "fedcba9876543210",
                               .source = "regatta calibrate",
                               .hosts = 2,
                               .events = 1'000,
                               .places_per_built = 64,
                               .hardware = HardwareRecord{.link_bytes_per_s = 1.25e9,
                                                          .core_bytes_per_s = 5e9,
                                                          .latency_ns = 25'000,
                                                          .server_cores = 2,
                                                          .compute_times = "gamma",
                                                          .spread = 0.25,
                                                          .cpu = "A CPU",
                                                          .queue_bytes = 80'000,
                                                          .machine_cores = 2}};
  return record;
}

Record sample_failed_record() {
  Record record;
  record.run_id = "sample-failed";
  record.timestamp = "2025-01-31T12:00:00Z";
  record.cell = {.workload = "parabola",
                 .dataset = "curve",
                 .strategy = "single",
                 .options = {},
                 .global_batch = 50,
                 .normalization_group = {},
                 .steps = {},
                 .epochs = {},
                 .straggler = {}};
  record.status = Status::Failed;
  record.failure = Failure{.kind = "diverged", .text = "step 7: the loss is not finite"};
  record.target = {.metric = "loss", .value = 0.05};
  record.command = "regatta run --workload parabola --strategy single";
  record.machine = sample_machine();
  record.machine.cpu_quota.reset();
  record.machine.gpus.clear();
  record.machine.driver.reset();
  record.software = {.compiler = "GNU 12.2.0 Release native",
                     .onednn = "2.6.3",
                     .open_mpi = {},
                     .grpc = {},
                     .cuda = {},
                     .cudnn = {},
                     .nccl = {},
                     .git_commit = "unknown",
                     .dirty = true};
  return record;
}

}  // namespace regatta::record
