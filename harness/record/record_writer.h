// SPDX-License-Identifier: Apache-2.0
//
// Appends records to FOLDER/records.jsonl, each whole or not at all, from any thread or process:
// an exclusive flock() for the time of the call, one write(2) of the whole line, then fsync. When
// the disk takes only a part of the line, the file is cut back to its former size.
//
// A file may end in a line without newline: a writer was killed within its write, or an editor
// stripped the newline. A whole JSON value there gets its newline; a part of one is moved to
// FOLDER/records.damaged, so that every line of records.jsonl stays a record and nothing is lost.
#pragma once

#include <filesystem>

#include "harness/record/record.h"

namespace regatta {

/// Creates the folder where it is missing.
/// Throws: RunError(Io) with the system's reason; what the file held before is untouched.
void append_record(const std::filesystem::path& folder, const Record& record);

/// Throws: RunError(Io) when append_record() could not work here, so that a run on an unwritable
/// folder ends before it starts. Leaves the folder, and an empty records.jsonl.
void require_writable(const std::filesystem::path& folder);

}  // namespace regatta
