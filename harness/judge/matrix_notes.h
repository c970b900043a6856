// SPDX-License-Identifier: Apache-2.0
//
// FOLDER/matrix.json: what a matrix says to a report beside its records, by workload:
//   {"parabola": {"missing": 8, "seconds": 41.5, "command": "regatta matrix ... --resume",
//                 "tuned": "rate-scale=2 for diloco (2 workers), ..."}}
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace regatta {

/// Notes on one workload.
struct WorkloadNotes {
  std::int64_t missing = 0;  ///< runs
  double seconds = 0;        ///< that they are expected to take; 0: not known
  std::string command;       ///< that runs them
  std::string tuned;         ///< which settings were chosen, by what; empty: none
};

using MatrixNotes = std::map<std::string, WorkloadNotes>;

/// Throws: RunError(Io).
void write_notes(const std::filesystem::path& folder, const MatrixNotes& notes);

/// Empty where there is no such file, or another's.
MatrixNotes notes_in(const std::filesystem::path& folder);

}  // namespace regatta
