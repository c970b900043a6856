// SPDX-License-Identifier: Apache-2.0
//
// Appends records to FOLDER/records.jsonl, and those of runs in virtual time to
// FOLDER/simulated.jsonl, so that no ranking mixes them. Appending is atomic, from any thread or
// process: an exclusive flock() during the call, one write(2) of the whole line, then fsync. If the
// disk takes only a part of the line, the file is truncated to its previous size.
//
// A file may end in a line without newline if a writer was killed during its write or an editor
// stripped the newline. A complete JSON value there gets its newline. An incomplete one is moved to
// FOLDER/records.damaged, so that every line of records.jsonl stays a record and no data is lost.
#pragma once

#include <filesystem>
#include <string>

#include "harness/record/record.h"
#include "kernels/graph/error.h"

namespace regatta {

/// Appends a record; creates the folder if it is missing.
/// Throws: RunError(Io) with the system's reason; earlier records remain unchanged.
void append_record(const std::filesystem::path& folder, const Record& record);

/// Ends a run if its record could not be written, and the matrix of that run.
class NotKept : public RunError {
 public:
  explicit NotKept(const std::string& text) : RunError(ErrorKind::Io, text) {}
};
inline constexpr int kNotKept = 5;  ///< exit code

/// Checks before a run that append_record() can open its file in the folder. Creates the folder and
/// an empty file if they are missing. Throws: RunError(Io).
void require_writable(const std::filesystem::path& folder, Kept kept = Kept::Real);

}  // namespace regatta
