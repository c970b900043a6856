// SPDX-License-Identifier: Apache-2.0
//
// The program with `regatta run` alone, for the thread sanitizer: judge, matrix and export take as
// long to compile and have no threads.
#include <vector>

#include "harness/cli/program.h"
#include "harness/cli/run_command.h"
#include "harness/export/export.h"

/// Defined here because the export room is not linked.
const std::vector<regatta::ExportFormat>& regatta::all_export_formats() {
  static const std::vector<exports::ExportFormat> none;
  return none;
}

int main(int argc, char** argv) {
  return regatta::run_regatta(argc, argv, [](const regatta::Command& command) {
    return command.kind == regatta::Command::Kind::Run ? regatta::run_command(command)
                                                       : regatta::kUsage;
  });
}
