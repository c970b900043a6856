// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a training step under `single` goes on a GPU: each kernel's time and the gap
// before it (queue_split_bench.h), measured while the step is launched kernel by kernel; the time
// of the step launched as one CUDA graph, beside what its kernels take together; and how near each
// kernel comes to the measured peaks of products and of the memory bus (roofline_bench.h).
//   share of a limit = time of the kernels that are near it / time of the step
// A gap holds the marks themselves (some microseconds on a GPU), so launched kernel by kernel a
// step is slower here than in a run; kernels that are launched as one are not marked.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/bench/queue_split_bench.h"
#include "harness/bench/roofline_bench.h"
#include "kernels/graph/data_set.h"

namespace regatta {

struct GpuStepOptions {
  std::int64_t batch = 0;    ///< examples of a step
  std::int64_t warm_up = 0;  ///< steps that do not count
  std::int64_t steps = 0;    ///< that do
  std::vector<int> cores;    ///< of the host
  PeakSizes peaks;
};

/// One kernel of a step.
struct KernelRow {
  std::string op;
  std::string layer;
  std::string choice;  ///< engine or algorithm; empty where there was no choice
  KernelLoad load;
  double ms = 0;
  double gap_ms = 0;  ///< before it
};

/// What the report says of a step that was measured; `captured_ms` of it launched as one.
nlohmann::ordered_json gpu_step_report(const std::vector<KernelRow>& rows, const QueueSplit& split,
                                       double captured_ms, const Peaks& peaks);

/// Measures a step that one process runs, on a device with queues and its kernels.
nlohmann::ordered_json measure_gpu_step(Device& device, const KernelTable& kernels,
                                        const Step& part, const DataSet& data,
                                        const GpuStepOptions& options);

/// Each kernel, too, where `kernels` has room for them.
enum class Rows : std::uint8_t { Ops, OpsAndKernels };
void print_gpu_step(const nlohmann::ordered_json& report, double batch, Rows rows);

}  // namespace regatta
