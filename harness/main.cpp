// SPDX-License-Identifier: Apache-2.0
//
// The program. Every error ends here: 1 usage or configuration, 2 a run that failed, 3 a cell that
// regressed, 4 nothing to compare or too little.
#include <iostream>
#include <new>

#include "harness/command_line.h"
#include "harness/doctor.h"
#include "harness/export/export.h"
#include "harness/judge/report.h"
#include "harness/list.h"
#include "harness/live.h"
#include "harness/matrix/matrix.h"
#include "harness/plan/warnings.h"
#include "harness/ranks/rank.h"
#include "harness/record/record_writer.h"
#include "harness/system/child.h"
#include "harness/system/process.h"
#include "kernels/graph/error.h"

namespace {

constexpr int kGood = 0;
constexpr int kUsage = 1;
constexpr int kRunFailed = 2;

int run(const regatta::Command& command) {
  if (regatta::is_rank()) return regatta::serve_as_rank(command.request);
  regatta::LiveLine live(command.request);
  const auto keep = [&](const regatta::Record& record) {
    regatta::append_record(command.out, record);
    live.conclude(record, command.out);
  };
  const regatta::Record record = regatta::race(
      command.request,
      {.ready =
           [&] {
             regatta::require_writable(command.out);
             const std::string warning =
                 regatta::warning_of(command.request, regatta::machine_facts());
             if (!warning.empty()) std::cerr << regatta::kWarning << warning << std::endl;
           },
       .progress = [&](const regatta::RaceProgress& progress) { live.show(progress); },
       .tell = [&](const std::string& line) { live.tell(line); },
       .ended = keep});
  return record.status == regatta::Status::Failed ? kRunFailed : kGood;
}

int execute(const regatta::Command& command) {
  switch (command.kind) {
    case regatta::Command::Kind::Run: return run(command);
    case regatta::Command::Kind::Matrix: return regatta::run_matrix(command.matrix);
    case regatta::Command::Kind::Report: return regatta::run_report(command.report);
    case regatta::Command::Kind::Compare: return regatta::run_compare(command.compare);
    case regatta::Command::Kind::Export: regatta::run_export(command.exported); return kGood;
    case regatta::Command::Kind::List:
      regatta::list(std::cout, command.what, command.list_format);
      return kGood;
    case regatta::Command::Kind::Graph: regatta::show_graph(std::cout, command); return kGood;
    case regatta::Command::Kind::Doctor:
      return regatta::doctor(std::cout, command.request.data_dir);
    case regatta::Command::Kind::Nothing: return command.exit_code;
  }
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return execute(regatta::parse_command_line(argc, argv));
  } catch (const regatta::RunError& error) {
    std::cerr << "regatta: " << error.what() << '\n';
    return kUsage;
  } catch (const std::bad_alloc&) {
    std::cerr << "regatta: " << regatta::kNotEnoughMemory << '\n';
    return kUsage;
  }
}
