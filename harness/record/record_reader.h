// SPDX-License-Identifier: Apache-2.0
//
// Reads records from files, more tolerantly than they are written. A line without a complete record
// is skipped with a warning; a killed writer leaves one at the end. Every schema version up to the
// current one is read: a missing field keeps its default, because older records have fewer fields.
// An unknown field is ignored.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/record.h"

namespace regatta {

struct ReadRecords {
  std::vector<Record> records;        ///< in the order of the file
  std::vector<std::string> warnings;  ///< one per skipped line: FILE:LINE: reason
};

/// The files of a folder that hold records: records.jsonl.gz, which is older, and records.jsonl.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& folder,
                                                Kept kept = Kept::Real);

/// The records of record_files(). The first of several lines with one run ID counts, but a run that
/// is_to_run_again() gives way to a later run of its command. Throws: RunError(Data) if a file
/// cannot be read, or has a line of more than 64 MiB, or a record of a later schema, in which
/// numbers may have another meaning.
ReadRecords records_in(const std::filesystem::path& folder, Kept kept = Kept::Real);

/// The first line of record_files(), if it is a record.
std::optional<Record> first_record_in(const std::filesystem::path& folder);

/// Like records_in(). Throws: RunError(Data) also if there is no record.
ReadRecords read_records(const std::filesystem::path& folder);

/// Reads both files. Throws: like read_records() if neither has a record.
ReadRecords read_all_records(const std::filesystem::path& folder);

/// Parses one line of JSON. A record without a run ID gets the line's digest as its ID, so that
/// equal lines are one run. Throws: RunError(Data) that names the field and the fault.
Record record_from_json(std::string_view line);

}  // namespace regatta
