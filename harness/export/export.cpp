// SPDX-License-Identifier: Apache-2.0
#include "harness/export/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/record/record_reader.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"
#include "kernels/base/names.h"

namespace regatta::exports {
namespace {

const ExportFormat& find_format(const std::string& name) {
  std::vector<std::string> names;
  for (const ExportFormat& format : all_export_formats()) {
    if (format.name == name) return format;
    names.emplace_back(format.name);
  }
  throw unknown_name("format", name, names);
}

bool is_among(std::string_view name, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_utf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

void check_flags(const ExportFormat& format, const ExportRequest& request) {
  const Submission& submission = request.submission;
  const std::pair<std::string_view, bool> flags[] = {
      {"--author", !submission.author.empty()},
      {"--author-email", !submission.author_email.empty()},
      {"--cost-per-hour", submission.cost_per_hour.has_value()}};
  for (const std::string* text : {&submission.author, &submission.author_email}) {
    if (!is_utf8(*text))
      throw RunError(ErrorKind::Usage, "--author and --author-email have to be UTF-8");
  }
  for (const auto& [flag, given] : flags) {
    const bool needed = is_among(flag, format.needed);
    if (needed && !given) {
      throw RunError(ErrorKind::Usage,
                     fmt::format("--format {} needs {}, which no record holds", format.name, flag));
    }
    if (given && !needed && !is_among(flag, format.offered)) {
      throw RunError(ErrorKind::Usage,
                     fmt::format("--format {} has no place for {}", format.name, flag));
    }
  }
  const bool is_file = format.output == ExportFormat::Output::File && !request.out.empty();
  if (request.if_there == system::IfThere::Replace && !is_file) {
    throw RunError(ErrorKind::Usage,
                   "--overwrite replaces the one file of --out, and this export has none");
  }
  if (format.output == ExportFormat::Output::Folder && request.out.empty()) {
    throw RunError(ErrorKind::Usage,
                   fmt::format("--format {} is several files; fix: name a new folder with --out",
                               format.name));
  }
}

/// Prints each distinct line once, with its count, in the order of first appearance.
void tell(const std::vector<std::string>& lines) {
  std::map<std::string, int> counts;
  for (const std::string& line : lines) ++counts[line];
  std::set<std::string> told;
  for (const std::string& line : lines) {
    if (!told.insert(line).second) continue;
    const int count = counts[line];
    std::cerr << "regatta: " << system::short_line(line)
              << (count > 1 ? fmt::format(" ({} times)", count) : "") << '\n';
  }
}

}  // namespace

const std::vector<ExportFormat>& all_export_formats() {
  using Output = ExportFormat::Output;
  static const std::vector<ExportFormat> formats{
      {.name = "dawnbench",
       .summary = "DAWNBench's CIFAR10/train, a JSON and a TSV for each run that reached 94 %",
       .output = Output::Folder,
       .needed = {"--author", "--author-email"},
       .offered = {"--cost-per-hour"},
       .write = export_dawnbench},
      {.name = "mllog",
       .summary = "MLPerf's log, a folder a cell and a result_N.txt for each run",
       .output = Output::Folder,
       .needed = {"--author"},
       .offered = {},
       .write = export_mllog},
      {.name = "gbench",
       .summary = "Google Benchmark's JSON: a step is an iteration, a run a repetition",
       .needed = {},
       .offered = {},
       .write = export_gbench},
      {.name = "github",
       .summary = "github-action-benchmark's customSmallerIsBetter and customBiggerIsBetter",
       .output = Output::Folder,
       .needed = {},
       .offered = {},
       .write = export_github},
      {.name = "bmf",
       .summary = "Bencher Metric Format: medians of each cell",
       .needed = {},
       .offered = {},
       .write = export_bmf},
      {.name = "csv",
       .summary = "a row for each run",
       .needed = {},
       .offered = {},
       .write = export_csv}};
  return formats;
}

void run_export(const ExportRequest& request) {
  const ExportFormat& format = find_format(request.format);
  check_flags(format, request);
  const record::ReadRecords read = record::read_records(request.folder);
  tell(read.warnings);
  const Export result = format.write(read.records, request.submission);
  tell(result.left_out);
  if (result.files.empty()) {
    throw RunError(ErrorKind::Usage, fmt::format("{}/records.jsonl holds nothing for --format {}",
                                                 request.folder, format.name));
  }
  if (format.output == ExportFormat::Output::Folder) {
    write_folder(request.out, result.files);
  } else if (!request.out.empty()) {
    system::write_output({.path = request.out, .if_there = request.if_there},
                         result.files.front().text);
  } else {
    std::cout << result.files.front().text;
  }
}

void require_one_machine(std::span<const record::Record> records) {
  std::set<std::string> machines;
  for (const record::Record& record : records) machines.insert(judge::machine_name(record.machine));
  if (machines.size() <= 1) return;
  throw RunError(ErrorKind::Usage,
                 fmt::format("the records are of {} machines ({}), and this format has no place "
                             "for that; fix: export each machine's folder by itself",
                             machines.size(), fmt::join(machines, "; ")));
}

std::vector<std::string> missing_medians(const judge::CellRuns& cell,
                                         const judge::CellMeasures& measures) {
  std::vector<std::string> lines;
  const auto has_failed = [](const record::Record* run) {
    return run->status == record::Status::Failed;
  };
  const auto failed = std::count_if(cell.runs.begin(), cell.runs.end(), has_failed);
  const std::size_t runs = cell.runs.size();
  if (failed > 0) {
    lines.push_back(fmt::format("{}: {} of {} runs failed, which are not in its speed", cell.name,
                                failed, runs));
  }
  if (!measures.examples_per_s) lines.push_back(cell.name + ": no run tells its speed");
  if (!measures.seconds_to_target) {
    lines.push_back(cell.name + ": exchanges nothing, so it claims no time to the target");
  } else if (std::isinf(measures.seconds_to_target->median)) {
    lines.push_back(
        fmt::format("{}: {} of {} runs reached the target, so the median time is "
                    "infinite; left out",
                    cell.name, measures.reached, runs));
  }
  return lines;
}

std::string file_name_part(std::string_view text) {
  std::string part;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain || c == '.') {
      part += c;
    } else if (!part.empty() && part.back() != '-') {
      part += '-';
    }
  }
  while (!part.empty() && part.back() == '-') part.pop_back();
  return part;
}

}  // namespace regatta::exports
