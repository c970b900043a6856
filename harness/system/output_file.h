// SPDX-License-Identifier: Apache-2.0
//
// Writes a file for the user of a command: a new file or, with --overwrite, a replacement, but
// never of records. Without commit() no file is left behind, and a replaced file stays unchanged
// until the new one is complete. An output file or folder may not have the name of a file of
// records, even in another letter case, through a link, or where no records exist yet: the next run
// would append its record to the output, or fail.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace regatta::system {

inline constexpr const char* kRealRecords = "records.jsonl";
inline constexpr const char* kSimulatedRecords = "simulated.jsonl";
inline constexpr const char* kDamagedRecords = "records.damaged";

/// Whether an existing file is an error or is replaced.
enum class IfThere { Refuse, Replace };

struct OutputOptions {
  std::filesystem::path path;
  std::string flag = "--out";  ///< the flag with which the user chose the path, for errors
  IfThere if_there = IfThere::Refuse;
};

class OutputFile {
 public:
  /// Creates the file early, so that a bad path fails before the command's work.
  /// Throws: RunError(Usage) for a path that may not be written, RunError(Io).
  explicit OutputFile(OutputOptions options);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// The stream to which the whole contents are written; commit() reports write errors.
  std::ostream& stream() {
    errno = 0;
    return stream_;
  }

  /// Moves the complete file to its path. Throws: RunError(Io) if it could not be written or moved.
  void commit();

 private:
  OutputOptions options_;
  std::filesystem::path written_;  ///< the file that commit() moves; empty for a device or a pipe
  std::ofstream stream_;
};

/// Checks that OutputFile would accept the path, without creating a file. Throws: RunError(Usage).
void require_free(const OutputOptions& options);

void write_output(const OutputOptions& options, std::string_view text);

/// Creates the folder and its missing parents.
/// Throws: RunError(Usage) if it has the name of a file of records, RunError(Io).
void create_folder(const std::filesystem::path& folder);

}  // namespace regatta::system
