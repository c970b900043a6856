// SPDX-License-Identifier: Apache-2.0
//
// Reads records from files, with more tolerance than the writer. A line without a complete record
// is skipped with a warning; a killed writer leaves one at the end. Every version of the schema up
// to the one that is written is read: a missing field keeps its default, because older records have
// fewer fields. An unknown field is ignored.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/record.h"

namespace regatta {

struct ReadRecords {
  std::vector<Record> records;        ///< in the order of the file
  std::vector<std::string> warnings;  ///< one per skipped line: FILE:LINE: reason
};

/// Reads FOLDER/records.jsonl, or FOLDER/simulated.jsonl; nothing where there is none. Of lines
/// with one run ID the first counts, and of a command that was run again, as is_to_run_again()
/// says, the later run. Throws: RunError(Data) if it cannot be read, or has a line of more than 64
/// MiB, or a record of a later schema, whose numbers may have another meaning.
ReadRecords records_in(const std::filesystem::path& folder, Kept kept = Kept::Real);

/// The same. Throws: RunError(Data) also where there is no record.
ReadRecords read_records(const std::filesystem::path& folder);

/// Both files. Throws: as read_records() where neither has a record.
ReadRecords read_all_records(const std::filesystem::path& folder);

/// Parses one line of JSON. A record without a run ID has the line's digest for one, so that the
/// same line is the same run. Throws: RunError(Data) that says what is wrong and in which field.
Record record_from_json(std::string_view line);

}  // namespace regatta
