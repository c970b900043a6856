// SPDX-License-Identifier: Apache-2.0
//
// `regatta export` converts records to the formats of other programs. Values that a format needs
// but no record has come from flags or are left out; they are never invented. Values that a format
// cannot represent are listed on stderr. The output depends only on records and flags: equal
// records give equal bytes. The format FORMAT is in the file export_FORMAT.cpp.
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

namespace regatta::exports {

/// Values that entries in leaderboards need but no record has.
struct Submission {
  std::string author;                   ///< a person or an organisation
  std::string author_email;             ///< e-mail address of the author
  std::optional<double> cost_per_hour;  ///< the price of the machine. Units: US dollars
};

struct Export {
  std::vector<ExportedFile> files;    ///< empty if no record fits the format
  std::vector<std::string> left_out;  ///< one line per value or run that was left out
};

/// An output format, defined by another program.
struct ExportFormat {
  enum class Output { File, Folder };

  std::string_view name;
  std::string_view summary;  ///< one line for the help
  Output output = Output::File;
  std::vector<std::string_view> needed;   ///< flags for fields of Submission that are required
  std::vector<std::string_view> offered;  ///< flags for fields of Submission that are optional
  Export (*write)(std::span<const record::Record>, const Submission&) = nullptr;
};

const std::vector<ExportFormat>& all_export_formats();

struct ExportRequest {
  std::string folder;  ///< folder of records
  std::string format;  ///< name of an ExportFormat
  std::string out;     ///< a file or a new folder, as the format requires; empty: stdout
  system::IfThere if_there = system::IfThere::Refuse;  ///< whether to replace a file that exists
  Submission submission;
};

/// Exports the records of the request's folder. Throws: RunError if the format does not take a
/// flag, if no record fits the format, or if a file cannot be written.
void run_export(const ExportRequest& request);

Export export_dawnbench(std::span<const record::Record> records, const Submission& submission);
Export export_mllog(std::span<const record::Record> records, const Submission& submission);
Export export_gbench(std::span<const record::Record> records, const Submission& submission);
Export export_github(std::span<const record::Record> records, const Submission& submission);
Export export_bmf(std::span<const record::Record> records, const Submission& submission);
Export export_csv(std::span<const record::Record> records, const Submission& submission);

// Shared by the formats.

/// Checks that all records are from one machine, for a format that has no field for it.
/// Throws: RunError(Usage) if there are several machines; the text lists them.
void require_one_machine(std::span<const record::Record> records);

/// Returns one line for each median that is missing, with the reason, for Export::left_out.
std::vector<std::string> missing_medians(const judge::CellRuns& cell,
                                         const judge::CellMeasures& measures);

/// Reduces a text to letters, digits and single hyphens, so that it can be a part of a file name.
std::string file_name_part(std::string_view text);

}  // namespace regatta::exports
