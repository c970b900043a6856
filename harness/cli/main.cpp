// SPDX-License-Identifier: Apache-2.0
//
// The commands of the program.
#include <iostream>

#include "harness/cli/command_line.h"
#include "harness/cli/doctor.h"
#include "harness/cli/list.h"
#include "harness/cli/program.h"
#include "harness/cli/run_command.h"
#include "harness/export/export.h"
#include "harness/judge/report.h"
#include "harness/matrix/matrix.h"
#include "harness/simulate/calibrate.h"

namespace {

int matrix(const regatta::Command& command) {
  regatta::require_alone("a matrix is one, which starts others");
  return regatta::run_matrix(command.matrix);
}

int execute(const regatta::Command& command) {
  using regatta::kGood;
  switch (command.kind) {
    case regatta::Command::Kind::Run: return regatta::run_command(command);
    case regatta::Command::Kind::Calibrate:
      regatta::run_calibrate(command.request, command.calibrate);
      return cli::kGood;
    case regatta::Command::Kind::Matrix: return matrix(command);
    case regatta::Command::Kind::Report: return regatta::run_report(command.report);
    case regatta::Command::Kind::Compare: return regatta::run_compare(command.compare);
    case regatta::Command::Kind::Export: regatta::run_export(command.exported); return cli::kGood;
    case regatta::Command::Kind::List:
      regatta::list(std::cout, command.what, command.list_format);
      return cli::kGood;
    case regatta::Command::Kind::Graph: regatta::show_graph(std::cout, command); return cli::kGood;
    case regatta::Command::Kind::Doctor:
      return regatta::doctor(std::cout, command.request.data_dir);
    case regatta::Command::Kind::Start: std::cout << regatta::kFirstCommands; return cli::kGood;
    case regatta::Command::Kind::Nothing: return cli::kGood;  // help or version
  }
  return regatta::kUsage;
}

}  // namespace

int main(int argc, char** argv) { return regatta::run_regatta(argc, argv, execute); }
