// SPDX-License-Identifier: Apache-2.0
//
// Appends records of real runs to FOLDER/records.jsonl, and those of runs in virtual time to
// FOLDER/simulated.jsonl, so that no ranking mixes them. Any thread or process may append at any
// time: append_record() holds an exclusive flock(), writes the whole line by one write(2), then
// calls fsync(2). If only a part of the line could be written, for example because the disk is
// full, the file is truncated to its previous size.
//
// The last line of a file may lack its newline, if a writer was killed or an editor stripped it. If
// that line is a complete JSON value, it gets a newline. Otherwise it is moved to
// FOLDER/records.damaged, so that every line of records.jsonl is a record and no data is lost.
#pragma once

#include <filesystem>
#include <string>

#include "harness/record/record.h"
#include "kernels/base/error.h"

namespace regatta::record {

/// Appends a record to its file; creates the folder if it is missing.
/// Throws: RunError(Io) with the system's reason; earlier records are then unchanged.
void append_record(const std::filesystem::path& folder, const Record& record);

/// The error of a record that could not be written. It ends the run, and the matrix of that run.
class NotKept : public RunError {
 public:
  explicit NotKept(const std::string& text) : RunError(ErrorKind::Io, text) {}
};
inline constexpr int kNotKept = 5;  ///< exit code of a program that ends with NotKept

/// Checks before a run that append_record() will be able to open the file for `kept` in the folder.
/// Creates the folder and an empty file if they are missing. Throws: RunError(Io) if it cannot.
void require_writable(const std::filesystem::path& folder, Kept kept = Kept::Real);

}  // namespace regatta::record
