// SPDX-License-Identifier: Apache-2.0
#include "harness/record/sample_record.h"

#include "harness/record/record_reader.h"

namespace regatta::record {

const char* sample_json() {
  return R"({
  "run_id": "sample-reached", "timestamp": "2025-01-31T12:00:00Z",
  "cell": {"workload": "resnet9_thin", "recipe": 2, "dataset": "shapes", "strategy": "all_reduce",
           "program": {"name": "a", "digest": "0123456789abcdef", "strategy": "b"},
           "options": {"all_reduce": "ring", "bucket_bytes": 65536}, "workers": 2, "fusion": "on",
           "winograd": "on", "global_batch": 512, "normalization_group": 16, "epochs": 0.5,
           "straggler": [{"worker": 1, "factor": 2.5}], "seed": 7},
  "round": {"number": 2, "precision": 0.05}, "status": "reached",
  "target": {"metric": "accuracy", "value": 90},
  "training_time_to_target_ns": 1600000000, "full_time_to_target_ns": 1900000000,
  "result_time_to_target_ns": 1850000000, "examples_to_target": 10240,
  "evaluations": [{"loss": 2.3, "metric": 10, "parameter_norm": 31.5},
                  {"examples": 10240, "epoch": 1, "training_time_ns": 1600000000,
                   "full_time_ns": 1900000000, "result_time_ns": 1850000000, "loss": 0.3,
                   "metric": 91, "parameter_norm": 32.25}],
  "bits_per_byte": 0.43, "examples_per_s": 6400, "tokens_per_example": 64, "tokens_per_s": 409600,
  "model_flops_per_step": 3e10,
  "utilization": {"mfu": 0.75, "peak_flops_per_s": 5e11, "peak_of": "measured"},
  "step_time_ns": {"count": 20, "min": 78000000, "p50": 80000000, "p90": 84000000,
                   "p99": 90000000, "max": 91000000},
  "step_examples": {"count": 20, "sum": 10240, "min": 480, "max": 544},
  "workers": [{
    "host": "n1", "place": "replica0", "steps": 20, "compute_ns": 1500000000,
    "delay_ns": 900000000, "straggler_factor": 2.5, "exposed_communication_ns": 40000000,
    "wait_ns": 30000000, "bubble_ns": 10000000, "input_ns": 5000000, "update_ns": 25000000,
    "planned_bytes": 15000000, "parameter_bytes": 4000000, "slot_bytes": 4000000,
    "activation_bytes": 5000000, "gradient_bytes": 1500000, "process_peak_bytes": 120000000,
    "bytes_sent": 8000000, "bytes_received": 8000000, "staleness_histogram": [12, 8],
    "age_ns": {"count": 20, "sum": 2000000, "p50": 90000, "p99": 240000, "max": 250000},
    "updates_applied": 16, "updates_dropped": 4,
    "late_ns": {"count": 20, "sum": 2000000, "p50": 90000, "p99": 240000, "max": 250000},
    "late_uncertainty_ns": 40000,
    "exchange_wait_ns": {"count": 20, "sum": 2000000, "p50": 90000, "p99": 240000, "max": 250000},
    "pushes": {"barrier_ns": {"count": 20}, "queue_ns": {"count": 20}, "wire_ns": {"count": 20}}},
    {"host": "n1", "place": "replica1", "replica": 1, "steps": 20}],
  "clocks": [{"rank": 1, "offset_ns": -3000, "drift_ppb": 200, "error_ns": 40000}],
  "lost_processes": ["rank 2 (replica1, process 7 on vm) was lost after about 3 steps"],
  "graph": {"nodes": 120, "nodes_per_process": [130], "models": 2, "build_ns": 2000000,
            "bytes_per_step_computed": 800000, "bytes_per_step_counted": 800000,
            "shard_imbalance": 1.25,
            "all_reduces": [{"algorithm": "torus", "torus": "2x1", "members": 2,
                             "between": "replicas", "bytes": 65536}]},
  "checksums": {"initial_weights": "0123456789abcdef", "data_order": "fedcba9876543210",
                "data": "00112233445566778899aabbccddeeff"},
  "setup_ns": 1200000000, "data_weights_ns": 100000000, "warmup_ns": 160000000,
  "training_ns": 1600000000, "full_ns": 1900000000,
  "memory": {"planned_bytes": 30000000, "evaluation_planned_bytes": 10000000,
             "data_bytes": 15000000, "peak_rss_bytes": 120000000},
  "kernels": [{"node": "all_reduce conv1", "choice": "NCCL 2.28.9, held to its ring"}],
  "checkpoints": {"written": 3, "time_ns": 40000000},
  "resumed": {"run_id": "sample-begun", "from": "out/checkpoints/sample-begun", "examples": 5120},
  "losses": [{"examples": 0, "loss": 2.31}, {"examples": 5120, "loss": 1.1}],
  "command": "regatta run --workload resnet9_thin --strategy all_reduce --workers 2",
  "machine": {"cpu": "A CPU", "architecture": "x86_64", "isa": ["avx2", "avx512f"],
              "cores_available": 2, "cores_physical": 1, "cores_used": 2, "cpu_quota": 1.5,
              "memory_bytes": 8000000000, "gpus": ["A GPU"], "driver": "580.1"},
  "software": {"compiler": "GNU 12.2.0 Release native", "onednn": "2.6.3", "open_mpi": "4.1.4",
               "grpc": "1.51.1", "cuda": "13.0", "cudnn": "9.1", "nccl": "2.27",
               "git_commit": "0123456789abcdef0123456789abcdef01234567"},
  "environment": {"OMP_NUM_THREADS": "1"}, "load": {"before": 1.3, "after": 0.2},
  "interface_bytes": 90000,
  "program": {"framework": "pytorch", "versions": {"torch": "2.15.0"},
              "notes": {"compile": "41 s"}},
  "proof": {"gradient_difference": 1e-7, "loss_difference": 2e-6, "parameter_difference": 1e-8}
})";
}

Record sample_record() { return record_from_json(sample_json()); }

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
  return record_from_json(R"({
  "run_id": "sample-failed", "timestamp": "2025-01-31T12:00:00Z",
  "cell": {"workload": "parabola", "dataset": "curve", "strategy": "single", "options": {},
           "fusion": "on", "global_batch": 50},
  "status": "failed", "failure": {"kind": "diverged", "text": "step 7: the loss is not finite"},
  "target": {"metric": "loss", "value": 0.05},
  "command": "regatta run --workload parabola --strategy single",
  "machine": {"cpu": "A CPU", "architecture": "x86_64", "isa": ["avx2", "avx512f"],
              "cores_available": 2, "cores_physical": 1, "cores_used": 2,
              "memory_bytes": 8000000000},
  "software": {"compiler": "GNU 12.2.0 Release native", "onednn": "2.6.3",
               "git_commit": "unknown", "dirty": true}
})");
}

}  // namespace regatta::record
