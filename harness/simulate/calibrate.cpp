// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/calibrate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <iostream>

#include "harness/plan/device_name.h"
#include "harness/plan/layout.h"
#include "harness/plan/placement.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/training_options.h"
#include "harness/simulate/calibration.h"
#include "harness/simulate/candidate_search.h"
#include "harness/simulate/measure_kernels.h"
#include "harness/simulate/measure_transports.h"
#include "harness/system/machine.h"
#include "harness/system/process.h"
#include "harness/system/run_id.h"
#include "kernels/base/error.h"
#include "kernels/virtual/program.h"
#include "workloads/workload.h"

namespace regatta::simulate {
namespace {

/// A temporary folder for the ranks' logs.
class LogFolder {
 public:
  LogFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("regatta-calibrate-" + system::random_hexadecimal(8))) {}
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

/// Reads the costs of messages from a calibration, which must be measured by this program.
virtual_time::Transports messages_in(const std::string& path) {
  const Calibration given = read_calibration(path).calibration;
  const std::string cpu = system::machine_facts().cpu, commit = system::software_facts().git_commit;
  if (given.source != kCalibrated || given.cpu != cpu || given.git_commit != commit) {
    throw RunError(
        ErrorKind::Usage,
        fmt::format("--messages {}: it was not made here by this program, but by '{}' of "
                    "commit '{}' on '{}'; fix: leave --messages out, which measures them",
                    path, given.source, given.git_commit, given.cpu));
  }
  return given.transports;
}

virtual_time::Transports measured_messages(const plan::RaceRequest& request,
                                           const std::function<void(const std::string&)>& tell) {
  const LogFolder logs;
  return measure_transports(
      {.logs = logs.path(), .hosts = request.hosts, .listen = request.listen, .tell = tell});
}

/// Returns the cells to be measured: the request's, or all that `regatta plan` compares.
std::vector<plan::RaceRequest> cells_of(const plan::RaceRequest& request,
                                        const CalibrateRequest& wanted) {
  if (wanted.cells == CalibrateRequest::Cells::One) return {request};
  std::vector<plan::RaceRequest> cells;
  for (const Candidate& each : candidates_for(request)) {
    cells.push_back(plan::parse_run(each.flags));
  }
  return cells;
}

}  // namespace

void run_calibrate(const plan::RaceRequest& request, const CalibrateRequest& wanted) {
  if (plan::is_gpu(request.device)) {
    throw RunError(ErrorKind::Unsupported,
                   "regatta calibrate measures kernels of the CPU; write those of a GPU by hand, "
                   "with a `source` that says where they come from");
  }
  const std::vector<plan::RaceRequest> cells = cells_of(request, wanted);
  const system::OutputOptions options{.path = wanted.out, .if_there = wanted.if_there};
  system::require_free(options);
  if (!wanted.messages.empty() && !request.hosts.empty()) {
    throw RunError(ErrorKind::Usage,
                   "--messages and --hosts: messages between hosts are measured or taken; fix: "
                   "leave one out");
  }
  Calibration made;
  if (!wanted.messages.empty()) made.transports = messages_in(wanted.messages);
  if (options.path.has_parent_path()) system::create_folder(options.path.parent_path());
  system::OutputFile out(options);
  const auto tell = [](const std::string& what) { std::cerr << "measures " << what << std::endl; };
  const workloads::Workload& workload = workloads::find_workload(request.workload);
  const workloads::DataSets data =
      workloads::load_data(workload, plan::dataset_of(request, workload), plan::files_of(request));
  const std::vector<float> weights = workloads::data_weights_of(workload, data.train);
  KernelMeasuring measuring{.data = data.train,
                            .cores = system::available_cores(0),
                            .threads_per_worker = static_cast<int>(wanted.threads),
                            .seed = request.seed,
                            .tell = tell};
  MeasuredKernels measured;
  std::optional<RunError> refusal;
  for (const plan::RaceRequest& cell : cells) {
    plan::Placement placement;
    try {
      placement = plan::place(cell, data.train.count);
      virtual_time::make_program(placement.placed->parts, {}, static_cast<int>(wanted.threads));
    } catch (const RunError& error) {  // plan refuses it, too
      if (error.kind() != ErrorKind::Usage && error.kind() != ErrorKind::Unsupported) throw;
      refusal = error;
      continue;
    }
    plan::set_data_weights(placement, weights);
    measured = measure_kernels(placement.placed->parts, measuring, std::move(measured));
    measuring.steps = 2;  // `regatta plan` takes the variation of steps from the first cell only
    measuring.rounds = 1;
  }
  if (measured.costs.empty() && refusal) throw RunError(*refusal);
  if (wanted.messages.empty()) made.transports = measured_messages(request, tell);
  made.source = kCalibrated;
  made.cpu = system::machine_facts().cpu;
  made.git_commit = system::software_facts().git_commit;
  made.timestamp = system::utc_timestamp();
  made.command = request.command;
  made.kernels = std::move(measured.costs);
  made.step_ns = std::move(measured.step_ns);
  out.stream() << to_json(made);
  out.commit();
  std::cout << made.kernels.size() << " kernels and messages in " << wanted.out << '\n';
}

}  // namespace regatta::simulate
