// SPDX-License-Identifier: Apache-2.0
//
// Measures where the time of a training step under `single` goes on a GPU: each kernel's time and
// the gap before it (queue_split_bench.h) while the step is launched kernel by kernel; the time of
// the step launched as one CUDA graph, compared with the sum of its kernels' times; and the share
// of the measured peak flop/s and memory bandwidth that each kernel reaches (roofline_bench.h).
//   share of a limit = time of the kernels at this limit / time of the step
// A gap includes the marks (CUDA events) that measure it, some microseconds, so a step launched
// kernel by kernel is slower here than in a run. A kernel that is merged into another and
// launched with it has no marks of its own.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/bench/queue_split_bench.h"
#include "harness/bench/roofline_bench.h"
#include "kernels/data/data_set.h"

namespace regatta::bench {

struct GpuStepOptions {
  std::int64_t batch = 0;    ///< examples in a step
  std::int64_t warm_up = 0;  ///< steps before the measured ones
  std::int64_t steps = 0;    ///< measured steps
  std::vector<int> cores;    ///< cores of the host that may be used
  PeakSizes peaks;
};

struct KernelTiming {
  std::string op;
  std::string layer;
  std::string choice;  ///< the kernel's engine or algorithm; empty if there was no choice
  KernelLoad load;
  double ms = 0;
  double gap_ms = 0;  ///< the gap before this kernel
};

/// The report of a measured step. `captured_ms` is the time of the step launched as one CUDA graph.
nlohmann::ordered_json gpu_step_report(const std::vector<KernelTiming>& rows,
                                       const QueueSplit& split, double captured_ms,
                                       const Peaks& peaks);

/// Measures a step of a single process on a device with queues. Returns gpu_step_report() and the
/// planned memory.
nlohmann::ordered_json measure_gpu_step(Device& device, const KernelTable& kernels,
                                        const Step& part, const DataSet& data,
                                        const GpuStepOptions& options);

/// The rows to print: one per op, or also one per kernel.
enum class Rows : std::uint8_t { Ops, OpsAndKernels };
void print_gpu_step(const nlohmann::ordered_json& report, double batch, Rows rows);

}  // namespace regatta::bench
