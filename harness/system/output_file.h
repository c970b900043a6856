// SPDX-License-Identifier: Apache-2.0
//
// A file that a command writes for its user: a new one, or with --overwrite a replacement, but
// never in place of records. Without commit() it leaves no file behind, and a replaced file stays
// unchanged until the new one is complete. No file or folder may have the name of a file of
// records, in any letter case, through a link, or where none exists yet: the next run would append
// its record to the output, or fail to.
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

/// The treatment of an existing file.
enum class IfThere { Refuse, Replace };

struct OutputOptions {
  std::filesystem::path path;
  std::string flag = "--out";  ///< the flag by which the user chose it, for errors
  IfThere if_there = IfThere::Refuse;
};

class OutputFile {
 public:
  /// Creates the file, so that a bad path fails before the work.
  /// Throws: RunError(Usage) for a path that may not be written, RunError(Io).
  explicit OutputFile(OutputOptions options);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Stream for the whole contents; write errors are reported by commit().
  std::ostream& stream() {
    errno = 0;
    return stream_;
  }

  /// Puts the complete file at its path. Throws: RunError(Io).
  void commit();

 private:
  OutputOptions options_;
  std::filesystem::path written_;  ///< the file that commit() moves; empty for a device or a pipe
  std::ofstream stream_;
};

/// Checks a path without touching it. Throws: RunError(Usage) if OutputFile would.
void require_free(const OutputOptions& options);

void write_output(const OutputOptions& options, std::string_view text);

/// Creates the folder and its missing parents.
/// Throws: RunError(Usage) for the name of a file of records, RunError(Io).
void create_folder(const std::filesystem::path& folder);

}  // namespace regatta
