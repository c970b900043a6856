// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/report.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "harness/judge/judgement.h"
#include "harness/record/record_reader.h"
#include "harness/system/child.h"
#include "harness/system/number.h"
#include "harness/system/program_files.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::judge {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 1;

fs::path find_page_maker() {
  if (const auto script = system::find_program_file("plots/report.py")) return *script;
  throw RunError(ErrorKind::Unsupported,
                 fmt::format("neither {} nor a folder above {} has plots/report.py, which makes "
                             "the page; install Regatta again, or run it inside its checkout",
                             system::installed_folder().string(),
                             fs::read_symlink("/proc/self/exe").string()));
}

/// The page's folder. A report of one folder is inside it, so that reports do not overwrite each
/// other.
fs::path folder_of_page(const ReportRequest& request) {
  if (!request.out.empty()) return request.out;
  return fs::path(request.folders.size() == 1 ? request.folders.front() : "out") / "report";
}

/// Checks before the work that no output is in the way.
void require_free_page(const fs::path& out, system::IfThere if_there) {
  for (const char* const name : {"index.html", "judgement.json"}) {
    system::require_free({.path = out / name, .if_there = if_there});
  }
}

std::string link_text(const record::HardwareRecord& hardware) {
  const auto limit = [](const char* name, std::optional<double> bytes_per_s) {
    return bytes_per_s ? fmt::format("{} of {:g} Mbit/s, ", name, *bytes_per_s * 8e-6) : "";
  };
  return fmt::format("{}{}delays of {:g} us", limit("links", hardware.link_bytes_per_s),
                     limit("a common link", hardware.core_bytes_per_s), hardware.latency_ns * 1e-3);
}

/// Describes a cluster in virtual time as a machine, so that only runs with equal links and equal
/// costs are compared.
system::MachineFacts virtual_machine(const record::Simulated& simulated) {
  std::string text = "cluster " + simulated.cluster.substr(0, 8);  // all that older records have
  if (const auto& hardware = simulated.hardware) {
    text = fmt::format("{}, kernels as on {}, compute times {}", link_text(*hardware),
                       hardware->cpu, hardware->compute_times);
    if (hardware->spread > 0) text += fmt::format(" with a spread of {:g}", hardware->spread);
    text += fmt::format(", servers of {}", system::plural(hardware->server_cores, "core"));
    if (const std::int64_t cores = hardware->machine_cores.value_or(0); cores > 0) {
      text += fmt::format(", hosts that share {}", system::plural(cores, "core"));
    }
    if (const double bytes = hardware->queue_bytes.value_or(0); bytes > 0) {
      text += fmt::format(", queues of {:g} kB", bytes * 1e-3);
    }
  }
  system::MachineFacts machine;
  machine.cpu = fmt::format("{} ({}; costs: {})", text, simulated.mode, simulated.source);
  return machine;
}

/// Judges the runs in virtual time separately, so that they do not affect the certainty of others.
std::vector<WorkloadJudgement> judge_virtual_time(std::vector<record::Record>& records) {
  for (record::Record& record : records) record.machine = virtual_machine(*record.simulated);
  Judgement judgement = judge(records);
  std::move(judgement.measurements.begin(), judgement.measurements.end(),
            std::back_inserter(judgement.workloads));
  return std::move(judgement.workloads);
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
  const system::ChildEnd end = system::run_program(
      system::python(), std::move(arguments),
      [](const std::string& line) { fmt::print("{}\n", line); },
      [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  if (end.exit_code == system::kNoProgram) {
    throw RunError(ErrorKind::Unsupported,
                   fmt::format("cannot start {}, which makes the page; apt-get install python3",
                               system::python()));
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
  if (request.format == ReportFormat::Json && request.if_there == system::IfThere::Replace) {
    throw RunError(ErrorKind::Usage, "--overwrite replaces a page, and --format json writes none");
  }
  const fs::path page_maker = request.format == ReportFormat::Page ? find_page_maker() : fs::path();
  std::vector<record::Record> records, simulated;
  std::vector<std::string> warnings;
  for (const std::string& folder : request.folders) {
    record::ReadRecords read = record::read_all_records(folder);
    for (record::Record& record : read.records) {
      (record.simulated ? simulated : records).push_back(std::move(record));
    }
    warnings.insert(warnings.end(), read.warnings.begin(), read.warnings.end());
  }
  const bool is_one = request.folders.size() == 1;
  Judgement judgement = is_one ? judge(records, request.folders.front()) : judge(records);
  add_notes(judgement, request.folders);
  judgement.warnings.insert(judgement.warnings.begin(), warnings.begin(), warnings.end());
  for (const std::string& warning : judgement.warnings) {
    fmt::print(stderr, "regatta: warning: {}\n", system::short_line(warning));
  }
  judgement.virtual_time = judge_virtual_time(simulated);
  const std::string json = to_json(judgement, request.folders);
  if (request.format == ReportFormat::Json) {
    std::cout << json;
    return 0;
  }
  system::create_folder(out);
  const fs::path file = out / "judgement.json";
  system::write_output({.path = file, .if_there = request.if_there}, json);
  std::vector<std::string> command{system::python(), system::isolated(), "-B", page_maker.string()};
  if (request.if_there == system::IfThere::Replace) command.emplace_back("--overwrite");
  command.push_back(file.string());
  return run_python(std::move(command));
}

}  // namespace regatta::judge
