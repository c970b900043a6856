// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program.
#include <iostream>

#include "harness/cli/command_line.h"
#include "harness/cli/doctor.h"
#include "harness/cli/list.h"
#include "harness/cli/plan_command.h"
#include "harness/cli/program.h"
#include "harness/cli/run_command.h"
#include "harness/contender/dump.h"
#include "harness/export/export.h"
#include "harness/judge/report.h"
#include "harness/matrix/matrix.h"
#include "harness/simulate/calibrate.h"

namespace regatta::cli {
namespace {

int matrix(const Command& command) {
  require_alone("a matrix is one, which starts others");
  return matrix::run_matrix(command.matrix);
}

int execute(const Command& command) {
  switch (command.kind) {
    case Command::Kind::Run: return run_command(command);
    case Command::Kind::Calibrate:
      simulate::run_calibrate(command.request, command.calibrate);
      return kGood;
    case Command::Kind::Plan:
      plan_command(std::cout, {.race = command.request, .memory = command.memory});
      return kGood;
    case Command::Kind::Matrix: return matrix(command);
    case Command::Kind::Report: return judge::run_report(command.report);
    case Command::Kind::Compare: return judge::run_compare(command.compare);
    case Command::Kind::Export: exports::run_export(command.exported); return kGood;
    case Command::Kind::List: list(std::cout, command.what, command.list_format); return kGood;
    case Command::Kind::Graph: show_graph(std::cout, command); return kGood;
    case Command::Kind::Dump:
      require_alone("a dump is written by one");
      contender::dump(command.request, command.dumped,
                      [](const std::string& line) { std::cerr << line << std::endl; });
      return kGood;
    case Command::Kind::Doctor: return doctor(std::cout, command.request.data_dir);
    case Command::Kind::Start: std::cout << kFirstCommands; return kGood;
    case Command::Kind::Nothing: return kGood;  // help or version
  }
  return kUsage;
}

}  // namespace
}  // namespace regatta::cli

int main(int argc, char** argv) {
  return regatta::cli::run_regatta(argc, argv, regatta::cli::execute);
}
