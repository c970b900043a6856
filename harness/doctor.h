// SPDX-License-Identifier: Apache-2.0
//
// `regatta doctor`: what this machine has, what is missing for which feature, and the command that
// fixes it. It looks and changes nothing.
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
  Missing,  ///< and `fix` brings it
  Absent,   ///< and no command can bring it: hardware
};

/// A row of the table.
struct Diagnosis {
  std::string feature;
  Finding finding = Finding::Ok;
  std::string detail;  ///< what was found, or where it was looked for
  std::string purpose;
  std::string fix;  ///< a command; empty unless missing
};

/// The name that /etc/os-release has for people.
std::string distribution_in(std::istream& os_release);

/// What GPUs need has rows of its own (doctor_gpu.h).
std::vector<Diagnosis> diagnose(const MachineFacts& machine, const SoftwareFacts& software,
                                const std::string& data_dir);

/// `ready; 2 features missing: mpirun, CIFAR-10; without NVIDIA driver`
std::string verdict_of(std::span<const Diagnosis> rows);

/// Prints the table and the verdict; CIFAR-10 is looked for in `data_dir`. Returns the exit code:
/// 0, because nothing it finds missing is required.
int doctor(std::ostream& out, const std::string& data_dir);

}  // namespace regatta
