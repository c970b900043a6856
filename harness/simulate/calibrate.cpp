// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/calibrate.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "harness/plan/device_name.h"
#include "harness/plan/layout.h"
#include "harness/plan/placement.h"
#include "harness/plan/training_options.h"
#include "harness/simulate/calibration.h"
#include "harness/simulate/measure_kernels.h"
#include "harness/simulate/measure_sums.h"
#include "harness/simulate/measure_transports.h"
#include "harness/simulate/stage_times.h"
#include "harness/system/machine.h"
#include "harness/system/process.h"
#include "harness/system/run_id.h"
#include "kernels/graph/error.h"
#include "kernels/graph/partition.h"
#include "workloads/workload.h"

namespace regatta {
namespace {

/// The ranks' logs, for as long as they are needed.
class LogFolder {
 public:
  LogFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("regatta-calibrate-" + random_hexadecimal(8))) {}
  ~LogFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  LogFolder(const LogFolder&) = delete;
  LogFolder& operator=(const LogFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void print_stages(const Placement& placement, const std::vector<Step>& parts,
                  const virtual_time::KernelCosts& costs, std::int64_t threads) {
  const Step model = as_computed(placement, placement.workload->training(placement.recipe));
  const auto balance = stage_balance(model.graph, parts, costs, static_cast<int>(threads));
  if (!balance) return;
  std::cout << "stages compute by " << balance->now.text() << '\n';
  if (balance->even.parts == balance->now.parts) return;
  std::cout << "more evenly by      " << balance->even.text() << '\n';
}

}  // namespace

void run_calibrate(const RaceRequest& request, const CalibrateRequest& wanted) {
  if (is_gpu(request.device)) {
    throw RunError(ErrorKind::Unsupported,
                   "regatta calibrate measures kernels of the CPU; write those of a GPU by hand, "
                   "with a `source` that says where they come from");
  }
  const OutputOptions options{.path = wanted.out, .if_there = wanted.if_there};
  require_free(options);
  if (options.path.has_parent_path()) create_folder(options.path.parent_path());
  OutputFile out(options);
  const auto tell = [](const std::string& what) { std::cerr << "measures " << what << std::endl; };
  const Workload& workload = find_workload(request.workload);
  const DataSets data = load_data(workload, dataset_of(request, workload), files_of(request));
  Placement placement = place(request, data.train.count);
  placement.recipe.data_weights = data_weights_of(workload, data.train);
  const std::vector<Step> parts = partition(placed_step(placement), binding_of(placement));
  MeasuredKernels measured =
      measure_kernels(parts, {.data = data.train,
                              .cores = available_cores(0),
                              .threads_per_worker = static_cast<int>(wanted.threads),
                              .seed = request.seed,
                              .tell = tell});
  const LogFolder logs;
  const TransportMeasuring transports{
      .logs = logs.path(), .hosts = request.hosts, .listen = request.listen, .tell = tell};
  const Calibration made{.source = kCalibrated,
                         .cpu = machine_facts().cpu,
                         .git_commit = software_facts().git_commit,
                         .timestamp = utc_timestamp(),
                         .command = request.command,
                         .transports = measure_transports(transports),
                         .kernels = std::move(measured.costs),
                         .sums = measure_sums(parts, transports),
                         .step_ns = std::move(measured.step_ns)};
  out.stream() << to_json(made);
  out.commit();
  std::cout << made.kernels.size() << " kernels and messages in " << wanted.out << '\n';
  print_stages(placement, parts, made.kernels, wanted.threads);
}

}  // namespace regatta
