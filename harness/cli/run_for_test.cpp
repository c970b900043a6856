// SPDX-License-Identifier: Apache-2.0
//
// The program with `regatta run` alone, for the thread sanitizer: judge, matrix and export take as
// long to compile and have no threads.
#include <vector>

#include "harness/cli/program.h"
#include "harness/cli/run_command.h"
#include "harness/export/export.h"

namespace regatta {

/// Defined here because the export room is not linked.
const std::vector<exports::ExportFormat>& exports::all_export_formats() {
  static const std::vector<ExportFormat> none;
  return none;
}

}  // namespace regatta

int main(int argc, char** argv) {
  namespace cli = regatta::cli;
  return cli::run_regatta(argc, argv, [](const cli::Command& command) {
    return command.kind == cli::Command::Kind::Run ? cli::run_command(command) : cli::kUsage;
  });
}
