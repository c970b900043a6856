// SPDX-License-Identifier: Apache-2.0
//
// Records from files, tolerant where the writer is strict: a line that is no whole record (the last
// one, when a writer was killed) costs a warning, a field that it lacks (older records have fewer)
// keeps its default, one that is not known here is passed over.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/record.h"

namespace regatta {

struct ReadRecords {
  std::vector<Record> records;        ///< in the order they were written
  std::vector<std::string> warnings;  ///< one a line that is no record: FILE:LINE: why, skipped
};

/// What FOLDER/records.jsonl holds.
/// Throws: RunError(Data) when it cannot be read or holds no record, and for a record of another
/// schema: numbers of another meaning must not reach a report.
ReadRecords read_records(const std::filesystem::path& folder);

/// One line of JSON.
/// Throws: RunError(Data) that says what is wrong with it, and where in it.
Record record_from_json(std::string_view line);

}  // namespace regatta
