// SPDX-License-Identifier: Apache-2.0
//
// `regatta doctor`: lists the features that this machine has and those that are missing, with the
// command that installs each missing one. It changes no files or settings.
#pragma once

#include <istream>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "harness/system/machine.h"

namespace regatta::cli {

enum class Finding {
  Ok,
  Missing,  ///< Diagnosis::fix is the command that adds the feature
  Absent,   ///< no command can add the feature, because it needs hardware
};

/// A row of the table.
struct Diagnosis {
  std::string feature;
  Finding finding = Finding::Ok;
  std::string detail;  ///< the version or other finding, or the place that was searched
  std::string purpose;
  std::string fix;  ///< the command that adds the feature; empty unless Missing
};

/// The distribution's readable name in the text of /etc/os-release; `unknown` if it has none.
std::string distribution_in(std::istream& os_release);

/// The rows of the table, except those about GPUs (doctor_gpu.h).
std::vector<Diagnosis> diagnose(const system::MachineFacts& machine,
                                const system::SoftwareFacts& software, const std::string& data_dir);

/// The last line of the output, for example
/// `ready; 2 features missing: mpirun, CIFAR-10; without NVIDIA driver`.
std::string verdict_of(std::span<const Diagnosis> rows);

/// Measures and prints the peak speed of products in f32 and bf16, of the CPU's own kernels, and
/// the memory bandwidth, of one core and of all that the process may use. An element type that the
/// processor does not compute has no numbers. Takes some seconds.
void print_roofline(std::ostream& out);

/// Prints the table and the verdict. `data_dir` is the folder of data sets that are read from
/// files; empty: the default of each. Returns the exit code, always 0, because no feature is
/// required.
int doctor(std::ostream& out, const std::string& data_dir);

}  // namespace regatta::cli
