// SPDX-License-Identifier: Apache-2.0
//
// A file that a command writes for its user: a new one, or one in place of another where
// --overwrite was given, and never in place of records. Unless it is committed it leaves nothing
// behind, and a file that is replaced stays as it was until the new one is complete. No file and no
// folder is written under the name of a file of records, in whatever case, also where there is none
// yet, and also behind a link: the next run would add its record to the output, or could not.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace regatta {

inline constexpr const char* kRealRecords = "records.jsonl";
inline constexpr const char* kSimulatedRecords = "simulated.jsonl";
inline constexpr const char* kDamagedRecords = "records.damaged";

/// What to do with a file that is there already.
enum class IfThere { Refuse, Replace };

struct OutputOptions {
  std::filesystem::path path;
  std::string flag = "--out";  ///< by which the user chose it, for errors
  IfThere if_there = IfThere::Refuse;
};

class OutputFile {
 public:
  /// Creates it, so that a bad path fails before the work.
  /// Throws: RunError(Usage) for a path that may not be written, RunError(Io).
  explicit OutputFile(OutputOptions options);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// For what is to be in it, in one go: where the system refuses that, commit() tells its reason.
  std::ostream& stream() {
    errno = 0;
    return stream_;
  }

  /// Puts the complete file at its path. Throws: RunError(Io).
  void commit();

 private:
  OutputOptions options_;
  std::filesystem::path written_;  ///< what commit() moves; empty for a device or a pipe
  std::ofstream stream_;
};

/// Checks a path without touching it. Throws: RunError(Usage) where OutputFile would.
void require_free(const OutputOptions& options);

void write_output(const OutputOptions& options, std::string_view text);

/// Creates the folder and those above it, where they are missing.
/// Throws: RunError(Usage) for a name of records, RunError(Io).
void create_folder(const std::filesystem::path& folder);

}  // namespace regatta
