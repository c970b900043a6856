// SPDX-License-Identifier: Apache-2.0
//
// `regatta export`: records in the formats of others, from records alone. What a format wants and
// no record holds comes from a flag or is left out, never made up; what a format has no place for
// is told on stderr. The same records give the same bytes. One file a format, export_FORMAT.cpp.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/cell_runs.h"
#include "harness/record/record.h"

namespace regatta {

/// What entries to a leaderboard want and no record holds.
struct Submission {
  std::string author;                   ///< a person or an organisation
  std::string author_email;             ///< of that
  std::optional<double> cost_per_hour;  ///< of the machine. Units: US dollars
};

struct ExportedFile {
  std::filesystem::path path;  ///< below the folder; empty where the format is one file
  std::string text;
};

struct Export {
  std::vector<ExportedFile> files;    ///< none: the records hold nothing for the format
  std::vector<std::string> left_out;  ///< a line each, repeated where it is of several runs
};

struct ExportFormat {
  enum class Output { File, Folder };

  std::string_view name;
  std::string_view summary;
  Output output = Output::File;
  std::vector<std::string_view> needed;   ///< flags of Submission it cannot be without
  std::vector<std::string_view> offered;  ///< that it can
  Export (*write)(std::span<const Record>, const Submission&) = nullptr;
};

/// The table of all formats.
const std::vector<ExportFormat>& all_export_formats();

struct ExportRequest {
  std::string folder;  ///< of records.jsonl
  std::string format;
  std::string out;  ///< file or new folder, as the format is; empty: stdout
  Submission submission;
};

/// Writes what was asked for. Throws: RunError for flags that do not go with the format, records
/// that hold nothing for it, and files that cannot be written.
void run_export(const ExportRequest& request);

Export export_dawnbench(std::span<const Record> records, const Submission& submission);
Export export_mllog(std::span<const Record> records, const Submission& submission);
Export export_gbench(std::span<const Record> records, const Submission& submission);
Export export_github(std::span<const Record> records, const Submission& submission);
Export export_bmf(std::span<const Record> records, const Submission& submission);
Export export_csv(std::span<const Record> records, const Submission& submission);

// What formats share.

/// For a format that has no place for the machine. Throws: RunError(Usage) that names them.
void require_one_machine(std::span<const Record> records);

/// Which medians of a cell there are not, and why; a line each.
std::vector<std::string> missing_medians(const CellRuns& cell, const CellMeasures& measures);

/// Letters, digits and single hyphens, for a part of a file's name.
std::string file_name_part(std::string_view text);

}  // namespace regatta
