// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes FOLDER/matrix.json, the notes that a matrix leaves for a report beside its
// records. An object has an entry for each workload:
//   {"parabola": {"missing": 8, "seconds": 41.5, "command": "regatta matrix ... --resume",
//                 "tuned": "rate-scale=2 for diloco (2 workers), ..."}}
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace regatta::judge {

struct WorkloadNotes {
  std::int64_t missing = 0;  ///< number of missing runs
  double seconds = 0;        ///< expected time of the missing runs; 0: unknown
  std::string command;       ///< the command that performs the missing runs, or adds more seeds
  std::string tuned;         ///< the chosen settings and their basis; empty if none
};

using MatrixNotes = std::map<std::string, WorkloadNotes>;

/// Writes the notes of all workloads. Throws: RunError(Io).
void write_notes(const std::filesystem::path& folder, const MatrixNotes& notes);

/// Reads the notes; empty if the file is absent or is not a matrix's.
MatrixNotes notes_in(const std::filesystem::path& folder);

}  // namespace regatta::judge
