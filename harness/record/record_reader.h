// SPDX-License-Identifier: Apache-2.0
//
// Reads records from files. A line that is not a complete record is skipped with a warning; a
// writer that was killed may leave such a line at the end. Every schema version up to the current
// one can be read: fields that an older record lacks keep their defaults. Unknown fields are
// ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/record.h"

namespace regatta::record {

struct ReadRecords {
  std::vector<Record> records;        ///< in the order of the file
  std::vector<std::string> warnings;  ///< one per skipped line: FILE:LINE: reason
};

/// Lists the files of records that exist in a folder: first records.jsonl.gz, with older records,
/// then records.jsonl; or the files of runs in virtual time.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& folder,
                                                Kept kept = Kept::Real);

/// Reads the records of record_files(). If several have one run ID, the first counts. A run for
/// which is_to_run_again() is true is dropped if its command ran again later. Throws:
/// RunError(Data) if a file cannot be read, has a line of more than 64 MiB, or has a record of a
/// later schema, in which numbers may have another meaning.
ReadRecords records_in(const std::filesystem::path& folder, Kept kept = Kept::Real);

/// Reads the records of real runs. Throws: RunError(Data) if there are none, and like records_in().
ReadRecords read_records(const std::filesystem::path& folder);

/// Reads the records of real runs and of runs in virtual time. Throws: RunError(Data) if there are
/// none, and like records_in().
ReadRecords read_all_records(const std::filesystem::path& folder);

/// Reads the records that are appended to a folder of real runs.
class NewRecords {
 public:
  /// Starts after the last existing record.
  explicit NewRecords(const std::filesystem::path& folder);

  /// Reads the records since the last call. A line that is no record, or not whole yet, is left
  /// out. Throws: RunError(Data), like record_from_json().
  std::vector<Record> read();

 private:
  std::filesystem::path file_;
  std::uintmax_t read_bytes_ = 0;  ///< bytes up to the end of the last whole line
};

/// Parses one line of JSON. A record without a run ID gets the digest of the line as its ID, so
/// that equal lines count as one run. Throws: RunError(Data); the text has the field and the error.
Record record_from_json(std::string_view line);

}  // namespace regatta::record
