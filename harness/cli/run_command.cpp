// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_command.h"

#include <iostream>
#include <vector>

#include "harness/cli/live.h"
#include "harness/contender/contend.h"
#include "harness/plan/device_name.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/warnings.h"
#include "harness/race/race.h"
#include "harness/race/simulated_race.h"
#include "harness/ranks/allocation.h"
#include "harness/ranks/rank.h"
#include "harness/record/record_writer.h"
#include "harness/system/child.h"
#include "harness/system/machine.h"
#include "harness/system/slurm_end.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cli {
namespace {

/// Runs one race and adds its record to the folder `out`.
record::Status run_one(const plan::RaceRequest& request, const std::string& out) {
  LiveLine live(request);
  const auto keep = [&](const record::Record& record) {
    try {
      record::append_record(out, record);
    } catch (const RunError& error) {
      throw record::NotKept(error.what());
    }
    live.conclude(record, out);
  };
  const auto get_ready = [&](const Graph& placed) {
    record::require_writable(
        out, request.cluster.empty() ? record::Kept::Real : record::Kept::Simulated);
    const std::string warning = plan::warning_of(request, system::machine_facts(), placed);
    if (warning.empty()) return;
    live.tell("");
    std::cerr << system::kWarning << system::short_line(warning) << std::endl;
  };
  const race::RaceHooks hooks{
      .ready = get_ready,
      .progress = [&](const race::RaceProgress& progress) { live.show(progress); },
      .tell = [&](const std::string& line) { live.tell(line); },
      .ended = keep};
  if (request.program.command.empty()) return race::race(request, hooks).status;
  record::require_writable(out);
  return contender::contend(request, hooks).status;
}

int simulate(const Command& command) {
  record::require_writable(command.out, record::Kept::Simulated);
  const record::Record record = race::simulated_race(command.request);
  record::append_record(command.out, record);
  if (record.failure) throw RunError(ErrorKind::Device, record.failure->text);
  race::print_simulated(std::cout, record, command.out);
  return kGood;
}

/// Throws if the build has no CUDA and the run needs it. Called first, because errors about other
/// GPU flags would not help then.
void require_device(const plan::RaceRequest& request) {
  if (!plan::is_gpu(request.device) || !request.cluster.empty()) return;
  const GpuFindings found = find_gpus();
  if (found.toolkit.empty()) throw RunError(ErrorKind::Unsupported, found.missing);
}

/// True for a run in virtual time in which nothing is computed.
bool takes_time_only(const plan::RaceRequest& request) {
  const simulate::VirtualMode mode = simulate::virtual_mode_of(request);
  if (!request.cluster.empty()) require_alone("a run in virtual time is one");
  return !request.cluster.empty() && mode == simulate::VirtualMode::Time;
}

}  // namespace

int run_command(const Command& command) {
  if (takes_time_only(command.request)) return simulate(command);
  if (ranks::is_rank()) return ranks::serve_as_rank(command.request);
  require_device(command.request);
  const system::SlurmEndNotice notice;
  const std::vector<plan::RaceRequest> runs = plan::runs_of(command.request);
  if (runs.size() > 1) require_alone("runs of several seeds are one, which starts others");
  int exit_code = kGood;
  for (const plan::RaceRequest& request : runs) {
    if (run_one(request, command.out) == record::Status::Failed) exit_code = kRunFailed;
    if (system::SlurmEndNotice::has_come()) break;
  }
  return exit_code;
}

void require_alone(const std::string& because) {
  const int started = ranks::allocated_processes();
  if (started <= 1) return;
  throw RunError(ErrorKind::Usage, "mpirun or srun has started " + std::to_string(started) +
                                       " processes, but " + because +
                                       "; fix: start it without them");
}

}  // namespace regatta::cli
