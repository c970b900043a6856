// SPDX-License-Identifier: Apache-2.0
//
// `regatta doctor`: the features of this machine, those that are missing, and the command that adds
// each of these. It changes nothing.
#pragma once

#include <istream>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "harness/system/machine.h"

namespace regatta {

enum class Finding {
  Ok,
  Missing,  ///< `fix` is the command that adds it
  Absent,   ///< no command can add it: hardware
};

/// A row of the table.
struct Diagnosis {
  std::string feature;
  Finding finding = Finding::Ok;
  std::string detail;  ///< the finding, or the place that was searched
  std::string purpose;
  std::string fix;  ///< a command; empty unless missing
};

/// The distribution's readable name in /etc/os-release; `unknown` if absent.
std::string distribution_in(std::istream& os_release);

/// The rows of the table, except those about GPUs (doctor_gpu.h).
std::vector<Diagnosis> diagnose(const MachineFacts& machine, const SoftwareFacts& software,
                                const std::string& data_dir);

/// The last line, such as `ready; 2 features missing: mpirun, CIFAR-10; without NVIDIA driver`.
std::string verdict_of(std::span<const Diagnosis> rows);

/// Prints the table and the verdict. `data_dir`: the folder of CIFAR-10. Returns the exit code 0,
/// because no feature is required.
int doctor(std::ostream& out, const std::string& data_dir);

}  // namespace regatta
