// SPDX-License-Identifier: Apache-2.0
//
// The program. Every error ends here: 1 usage or configuration, 2 a run that failed, 3 a cell that
// regressed, 4 nothing to compare or too little, 5 a record that could not be written.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "harness/command_line.h"
#include "harness/doctor.h"
#include "harness/export/export.h"
#include "harness/judge/report.h"
#include "harness/list.h"
#include "harness/live.h"
#include "harness/matrix/matrix.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/warnings.h"
#include "harness/ranks/allocation.h"
#include "harness/ranks/keeper.h"
#include "harness/ranks/rank.h"
#include "harness/record/record_writer.h"
#include "harness/simulate/calibrate.h"
#include "harness/simulate/measure_transports.h"
#include "harness/simulated_race.h"
#include "harness/system/child.h"
#include "harness/system/hangup.h"
#include "harness/system/process.h"
#include "harness/system/slurm_end.h"
#include "harness/system/terminal.h"
#include "harness/torus_of_hosts.h"
#include "kernels/graph/error.h"

namespace {

constexpr int kGood = 0;
constexpr int kUsage = 1;
constexpr int kRunFailed = 2;

/// A name or path that was given may be long; what is wrong and what to do stand at the ends.
void say(const std::string& text) { std::cerr << "regatta: " << regatta::short_line(text) << '\n'; }

/// Throws: RunError(Usage) where mpirun or srun has started several processes.
void require_alone(const std::string& because) {
  const int started = regatta::allocated_processes();
  if (started <= 1) return;
  throw regatta::RunError(regatta::ErrorKind::Usage,
                          "mpirun or srun has started " + std::to_string(started) +
                              " processes, but " + because + "; fix: start it without them");
}

/// Adds the record of the run to the folder `out`.
regatta::Status run_one(const regatta::RaceRequest& request, const std::string& out) {
  regatta::LiveLine live(request);
  const auto keep = [&](const regatta::Record& record) {
    try {
      regatta::append_record(out, record);
    } catch (const regatta::RunError& error) {
      throw regatta::NotKept(error.what());
    }
    live.conclude(record, out);
  };
  const auto get_ready = [&] {
    regatta::require_writable(
        out, request.cluster.empty() ? regatta::Kept::Real : regatta::Kept::Simulated);
    const std::string warning = regatta::warning_of(request, regatta::machine_facts());
    if (warning.empty()) return;
    live.tell("");
    std::cerr << regatta::kWarning << regatta::short_line(warning) << std::endl;
  };
  return regatta::race(
             request,
             {.ready = get_ready,
              .progress = [&](const regatta::RaceProgress& progress) { live.show(progress); },
              .tell = [&](const std::string& line) { live.tell(line); },
              .ended = keep})
      .status;
}

/// A run that has failed is a record, and those of other seeds follow it, unless they cannot.
int run(const regatta::Command& command) {
  if (regatta::is_rank()) return regatta::serve_as_rank(command.request);
  const regatta::SlurmEndNotice notice;
  const std::vector<regatta::RaceRequest> runs =
      regatta::runs_of(regatta::with_torus_of_hosts(command.request));
  if (runs.size() > 1) require_alone("runs of several seeds are one, which starts others");
  int exit_code = kGood;
  for (const regatta::RaceRequest& request : runs) {
    if (run_one(request, command.out) == regatta::Status::Failed) exit_code = kRunFailed;
    if (regatta::SlurmEndNotice::has_come()) break;
  }
  return exit_code;
}

int simulate(const regatta::Command& command) {
  regatta::require_writable(command.out, regatta::Kept::Simulated);
  const regatta::RaceRequest request = regatta::with_torus_of_hosts(command.request);
  const regatta::Record record = regatta::simulated_race(request);
  regatta::append_record(command.out, record);
  regatta::print_simulated(std::cout, record, command.out);
  return kGood;
}

/// In virtual time, where nothing is computed.
bool takes_time_only(const regatta::RaceRequest& request) {
  const regatta::VirtualMode mode = regatta::virtual_mode_of(request);
  if (!request.cluster.empty()) require_alone("a run in virtual time is one");
  return !request.cluster.empty() && mode == regatta::VirtualMode::Time;
}

void show_graph(regatta::Command command) {
  command.request = regatta::with_torus_of_hosts(command.request);
  regatta::show_graph(std::cout, command);
}

int matrix(const regatta::Command& command) {
  require_alone("a matrix is one, which starts others");
  return regatta::run_matrix(command.matrix);
}

int execute(const regatta::Command& command) {
  switch (command.kind) {
    case regatta::Command::Kind::Run:
      return takes_time_only(command.request) ? simulate(command) : run(command);
    case regatta::Command::Kind::Calibrate:
      regatta::run_calibrate(regatta::with_replicas_on_host(command.request), command.calibrate);
      return kGood;
    case regatta::Command::Kind::Matrix: return matrix(command);
    case regatta::Command::Kind::Report: return regatta::run_report(command.report);
    case regatta::Command::Kind::Compare: return regatta::run_compare(command.compare);
    case regatta::Command::Kind::Export: regatta::run_export(command.exported); return kGood;
    case regatta::Command::Kind::List:
      regatta::list(std::cout, command.what, command.list_format);
      return kGood;
    case regatta::Command::Kind::Graph: show_graph(command); return kGood;
    case regatta::Command::Kind::Doctor:
      return regatta::doctor(std::cout, command.request.data_dir);
    case regatta::Command::Kind::Start: std::cout << regatta::kFirstCommands; return kGood;
    case regatta::Command::Kind::Nothing: return kGood;  // help or version
  }
  return kUsage;
}

/// Before this what was printed may stand in a buffer only.
int checked(int exit_code) {
  errno = 0;
  if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  say(std::string("cannot write to standard output: ") +
      (errno == 0 ? "it is closed or full" : std::strerror(errno)));
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  regatta::keep_hangup_ignored();
  try {
    if (regatta::is_keeper()) return regatta::keep({argv + 1, argv + argc});
    if (regatta::measures_as_rank()) return regatta::measure_as_rank();
    return checked(execute(regatta::parse_command_line(argc, argv)));
  } catch (const regatta::NotKept& error) {
    say(error.what());
    return regatta::kNotKept;
  } catch (const regatta::RunError& error) {
    say(error.what());
  } catch (const std::bad_alloc&) {
    say(regatta::kNotEnoughMemory);
  } catch (const std::system_error& error) {  // the last guard of streams and the file system
    say(error.what());
  } catch (const std::exception& error) {
    say(std::string("an error of Regatta itself, which its authors want to know: ") + error.what());
  }
  return kUsage;
}
