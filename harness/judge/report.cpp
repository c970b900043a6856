// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/report.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <iostream>

#include "harness/judge/judgement.h"
#include "harness/judge/simulated_judgement.h"
#include "harness/record/record_reader.h"
#include "harness/system/child.h"
#include "harness/system/output_file.h"
#include "harness/system/program_files.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 1;

fs::path find_page_maker() {
  if (const auto script = find_program_file("plots/report.py")) return *script;
  throw RunError(
      ErrorKind::Unsupported,
      fmt::format("neither {} nor a folder above {} has plots/report.py, which makes "
                  "the page; install Regatta again, or run it inside its checkout",
                  installed_folder().string(), fs::read_symlink("/proc/self/exe").string()));
}

/// The page's folder; inside the only folder, so that reports of two folders stay apart.
fs::path folder_of_page(const ReportRequest& request) {
  if (!request.out.empty()) return request.out;
  return fs::path(request.folders.size() == 1 ? request.folders.front() : "out") / "report";
}

/// Checks before the work that no output is in the way.
void require_free_page(const fs::path& out, IfThere if_there) {
  for (const char* const name : {"index.html", "simulated.html", "judgement.json"}) {
    require_free({.path = out / name, .if_there = if_there});
  }
}

void add_notes(Judgement& judgement, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    for (const auto& [name, notes] : notes_in(folder)) {
      for (WorkloadJudgement& workload : judgement.workloads) {
        if (workload.cells.front().runs.front()->cell.workload != name) continue;
        workload.matrices.push_back(notes);
      }
    }
  }
}

/// Runs Python and copies its output to that of this program.
int run_python(std::vector<std::string> arguments) {
  const ChildEnd end = run_program(
      kPython, std::move(arguments), [](const std::string& line) { fmt::print("{}\n", line); },
      [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  if (end.exit_code == kNoProgram) {
    throw RunError(
        ErrorKind::Unsupported,
        fmt::format("cannot start {}, which makes the page; apt-get install python3", kPython));
  }
  if (end.signal != 0) {
    throw RunError(ErrorKind::Io,
                   fmt::format("plots/report.py was ended: {}", strsignal(end.signal)));
  }
  return end.exit_code == 0 ? 0 : kUsage;
}

}  // namespace

int run_report(const ReportRequest& request) {
  const fs::path out = folder_of_page(request);
  if (request.format == ReportFormat::Page) require_free_page(out, request.if_there);
  if (request.format == ReportFormat::Json && request.if_there == IfThere::Replace) {
    throw RunError(ErrorKind::Usage, "--overwrite replaces a page, and --format json writes none");
  }
  const fs::path page_maker = request.format == ReportFormat::Page ? find_page_maker() : fs::path();
  std::vector<Record> records, simulated;
  std::vector<std::string> warnings;
  for (const std::string& folder : request.folders) {
    ReadRecords read = read_all_records(folder);
    for (Record& record : read.records) {
      (record.simulated ? simulated : records).push_back(std::move(record));
    }
    warnings.insert(warnings.end(), read.warnings.begin(), read.warnings.end());
  }
  const bool is_one = request.folders.size() == 1;
  Judgement judgement = is_one ? judge(records, request.folders.front()) : judge(records);
  add_notes(judgement, request.folders);
  judgement.warnings.insert(judgement.warnings.begin(), warnings.begin(), warnings.end());
  for (const std::string& warning : judgement.warnings) {
    fmt::print(stderr, "regatta: warning: {}\n", short_line(warning));
  }
  const std::string json = to_json(judgement, judge_simulated(simulated), request.folders);
  if (request.format == ReportFormat::Json) {
    std::cout << json;
    return 0;
  }
  create_folder(out);
  const fs::path file = out / "judgement.json";
  write_output({.path = file, .if_there = request.if_there}, json);
  std::vector<std::string> command{kPython, kIsolated, "-B", page_maker.string()};
  if (request.if_there == IfThere::Replace) command.emplace_back("--overwrite");
  command.push_back(file.string());
  return run_python(std::move(command));
}

}  // namespace regatta
