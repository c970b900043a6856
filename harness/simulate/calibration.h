// SPDX-License-Identifier: Apache-2.0
//
// A file with the costs of kernels and messages: measured by `regatta calibrate`, or written by
// hand for other hardware, in which case `source` names the origin of the numbers. JSON:
//   {"calibration": 1, "source": "regatta calibrate", "cpu": "...", "git_commit": "...",
//    "timestamp": "...", "command": "...",
//    "transports": {"in_process": {"on_host": {"message_ns": 900, "bytes_per_ns": 4.2},
//                                  "between_hosts": {..., "points": [[BYTES, NS], ...]},
//                                  "adding_bytes_per_ns": 9,
//                                  "sending_bytes_per_ns": null},
//                   "open_mpi": ..., "open_mpi_sums": ..., "grpc": ...},
//    "step_ns": [...], "kernels": {KEY: NANOSECONDS}}
// KEY is kernel_key() of kernels/virtual/kernel_costs.h; null means no limit; points, which may be
// left out, are measured pairs of message size and time, and core_points beside them pairs of size
// and core time (Way in kernels/virtual/cluster.h). The limits below keep all sums of times in a
// run within the range of a double. Unknown members, such as the `sums` of older files, are
// ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/virtual/cluster.h"
#include "kernels/virtual/kernel_costs.h"

namespace regatta::simulate {

struct Calibration {
  std::string source;  ///< `regatta calibrate`, or the origin of hand-written numbers
  std::string cpu;     ///< model name of the measured CPU, as the CPU reports it
  std::string git_commit;
  std::string timestamp;
  std::string command;
  virtual_time::Transports transports;
  virtual_time::KernelCosts kernels;
  std::vector<double> step_ns;  ///< compute time of a worker in each measured step
};

inline const std::string kCalibrated = "regatta calibrate";

inline constexpr double kMostNs = 1e13;  ///< longest message, kernel or step: three hours
inline constexpr double kLeastBytesPerNs = 1e-9, kMostBytesPerNs = 1e9;
inline constexpr double kMostBytes = 1e12;              ///< largest message of a point
inline constexpr std::size_t kMostPoints = 100;         ///< most points of a Way
inline constexpr std::size_t kMostStepTimes = 100'000;  ///< each step computes their mean

std::string to_json(const Calibration& calibration);

struct CalibrationFile {
  Calibration calibration;
  std::string digest;  ///< digest of the file, sixteen hexadecimal digits
};

/// Reads a calibration file. Throws: RunError(Data) that names the file and the error in it.
CalibrationFile read_calibration(const std::filesystem::path& path);

/// Parses the text of a calibration file. `name` names the text in errors.
CalibrationFile parse_calibration(std::string_view text, const std::string& name);

/// Requires that a calibration was measured on the CPU `cpu` by the program built from
/// `git_commit`, or was written by hand. `path` names the file in errors. Throws: RunError(Usage).
void require_fitting(const Calibration& calibration, const std::string& path,
                     const std::string& cpu, const std::string& git_commit);

/// Returns the FNV-1a hash of a text as sixteen hexadecimal digits.
std::string digest_of_text(std::string_view text);

}  // namespace regatta::simulate
