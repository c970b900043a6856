// SPDX-License-Identifier: Apache-2.0
//
// `regatta export` writes records in formats of other programs, from the records alone. A value
// that a format needs and no record has comes from a flag or is left out, never invented; values
// that a format cannot hold are listed on stderr. Equal records give equal bytes. Each format has a
// file export_FORMAT.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/export/exported_file.h"
#include "harness/judge/cell_runs.h"
#include "harness/record/record.h"
#include "harness/system/output_file.h"

namespace regatta {

/// Values that leaderboard entries need and no record has.
struct Submission {
  std::string author;                   ///< a person or an organisation
  std::string author_email;             ///< the author's
  std::optional<double> cost_per_hour;  ///< the price of the machine. Units: US dollars
};

struct Export {
  std::vector<ExportedFile> files;    ///< none if no record fits the format
  std::vector<std::string> left_out;  ///< a line for each value and run
};

struct ExportFormat {
  enum class Output { File, Folder };

  std::string_view name;
  std::string_view summary;
  Output output = Output::File;
  std::vector<std::string_view> needed;   ///< flags of Submission that it requires
  std::vector<std::string_view> offered;  ///< optional flags of Submission
  Export (*write)(std::span<const Record>, const Submission&) = nullptr;
};

/// The table of all formats.
const std::vector<ExportFormat>& all_export_formats();

struct ExportRequest {
  std::string folder;  ///< with a records.jsonl
  std::string format;
  std::string out;  ///< file or new folder, depending on the format; empty: stdout
  IfThere if_there = IfThere::Refuse;  ///< for the file
  Submission submission;
};

/// Writes the export. Throws: RunError for flags that the format does not take, records that do not
/// fit it, and files that cannot be written.
void run_export(const ExportRequest& request);

Export export_dawnbench(std::span<const Record> records, const Submission& submission);
Export export_mllog(std::span<const Record> records, const Submission& submission);
Export export_gbench(std::span<const Record> records, const Submission& submission);
Export export_github(std::span<const Record> records, const Submission& submission);
Export export_bmf(std::span<const Record> records, const Submission& submission);
Export export_csv(std::span<const Record> records, const Submission& submission);

// Shared by the formats.

/// Checks records for a format without a field for the machine. Throws: RunError(Usage) that names
/// the machines if there are several.
void require_one_machine(std::span<const Record> records);

/// Explains each missing median of a cell in a line.
std::vector<std::string> missing_medians(const CellRuns& cell, const CellMeasures& measures);

/// Reduces a text to letters, digits and single hyphens, for a part of a file's name.
std::string file_name_part(std::string_view text);

}  // namespace regatta
