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
//    "sums": [{"algorithm": "ring", "members": 4, "processes": 4, "between_hosts": false,
//              "way": {"message_ns": 9000, "bytes_per_ns": 1.2, "points": ...}}],
//    "step_ns": [...], "kernels": {KEY: NANOSECONDS}}
// KEY is kernel_key() of kernels/virtual/kernel_costs.h; null means no limit; points, which may be
// left out, are sizes whose time was measured (Way in kernels/virtual/cluster.h). Older files have
// no sums, which --all-reduce auto needs. The ranges below keep any sum of a run's times within a
// double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/virtual/cluster.h"
#include "kernels/virtual/kernel_costs.h"

namespace regatta {

/// The measured times of an all_reduce by one algorithm, as a function of its bytes, with all
/// members ready.
struct MeasuredSum {
  std::string algorithm;
  std::int64_t members = 1;
  std::int64_t processes = 1;  ///< each has a contiguous share of members; 1: threads
  std::int64_t columns = 0;    ///< of a torus; 0: as nearly square as the members allow
  bool between_hosts = false;
  virtual_time::Way way;  ///< time of the whole sum by a member's bytes
};

struct Calibration {
  std::string source;  ///< `regatta calibrate`, or the origin of hand-written numbers
  std::string cpu;     ///< model name as the CPU reports it
  std::string git_commit;
  std::string timestamp;
  std::string command;
  virtual_time::Transports transports;
  virtual_time::KernelCosts kernels;
  std::vector<MeasuredSum> sums;
  std::vector<double> step_ns;  ///< a worker's compute times in the measured steps
};

inline const std::string kCalibrated = "regatta calibrate";

inline constexpr double kMostNs = 1e13;  ///< of a message, a kernel or a step: three hours
inline constexpr double kLeastBytesPerNs = 1e-9, kMostBytesPerNs = 1e9;
inline constexpr double kMostBytes = 1e12;       ///< of a point
inline constexpr std::size_t kMostPoints = 100;  ///< of a way
inline constexpr std::size_t kMostSums = 1'000;
inline constexpr std::size_t kMostStepTimes = 100'000;  ///< their mean is computed at each step

std::string to_json(const Calibration& calibration);

struct CalibrationFile {
  Calibration calibration;
  std::string digest;  ///< of the file, sixteen hexadecimal digits
};

/// Reads a file. Throws: RunError(Data) that names the file and its error.
CalibrationFile read_calibration(const std::filesystem::path& path);

/// Parses the text of a file. `name`: the text's name, for errors.
CalibrationFile parse_calibration(std::string_view text, const std::string& name);

/// Requires that the costs are of this program's commit and processor. `path`: for errors.
/// Throws: RunError(Usage), unless the calibration was written by hand.
void require_fitting(const Calibration& calibration, const std::string& path,
                     const std::string& cpu, const std::string& git_commit);

/// Returns the FNV-1a hash of a text as sixteen hexadecimal digits.
std::string digest_of_text(std::string_view text);

}  // namespace regatta
