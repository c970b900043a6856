// SPDX-License-Identifier: Apache-2.0
//
// The machine, software and environment of a measurement, as stored in its record. They do not
// identify a person: host names are absent (a record lists them with its workers), and only
// environment variables on a fixed list are stored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/runtime/gpu_facts.h"

namespace regatta::system {

struct MachineFacts {
  std::string cpu;                   ///< model, as the maker names it
  std::string architecture = {};     ///< `x86_64`, `aarch64`
  std::vector<std::string> isa;      ///< the CPU's instruction set extensions that are recorded
  std::int64_t cores_available = 0;  ///< logical cores that this process may run on
  std::int64_t cores_physical = 0;   ///< physical cores to which these logical cores belong
  std::int64_t cores_used = 0;       ///< cores that the run uses; by default all available
  std::optional<double> cpu_quota;   ///< CPU limit of the control group. Units: cores
  std::int64_t memory_bytes = 0;
  std::vector<std::string> gpus;
  std::optional<std::string> driver;   ///< version of the GPUs' driver
  std::string link = "shared_memory";  ///< the link between workers
};

struct SoftwareFacts {
  std::string compiler;  ///< with build type and target instruction set
  std::string onednn;
  std::optional<std::string> open_mpi;  ///< or MPICH; this and the libraries below: empty if absent
  std::optional<std::string> grpc;
  std::optional<std::string> cuda;
  std::optional<std::string> cudnn;
  std::optional<std::string> nccl;
  std::string git_commit;  ///< `unknown` if not built from a git checkout
  bool dirty = false;      ///< true if the sources differed from git_commit
};

MachineFacts machine_facts();
/// Returns the model of an Arm processor, which /proc/cpuinfo describes by two numbers: `Arm
/// Neoverse-V2` for `0x41` and `0xd4f`.
std::string arm_model(std::string_view implementer, std::string_view part);
/// The software of this build, without the libraries for GPUs that are loaded on first use.
SoftwareFacts software_facts();
/// Formats the version, commit, compiler and libraries of this program as one line.
std::string version_line(const SoftwareFacts& facts);
void add_gpu_libraries(const std::vector<GpuLibrary>& found, SoftwareFacts& facts);

/// The names and values of this process's environment variables for which is_recorded_variable() is
/// true: libraries read them, and they can change a measurement.
std::map<std::string, std::string> environment_facts();

/// True if records store the environment variable: OMP_NUM_THREADS, but not HOME.
bool is_recorded_variable(std::string_view name);

/// The number of threads on the machine that run or wait for a core, without the calling thread:
/// the mean of 20 samples, one per millisecond. Unlike the one-minute load average it does not
/// include a run that has just ended. Empty if the kernel does not report it.
std::optional<double> load_of_others();
/// The number of threads other than the calling one that run or wait for a core, from the text of
/// /proc/loadavg, such as "0.20 0.18 0.12 1/80 11206".
std::optional<double> others_from_loadavg(std::string_view text);

/// The bytes that all network interfaces of this host, lo included, have sent since it started.
/// Empty if the kernel does not report them.
std::optional<std::int64_t> bytes_sent_by_interfaces();
/// The bytes that all network interfaces have sent, from the text of /proc/net/dev.
std::optional<std::int64_t> sent_from_net_dev(std::string_view text);

/// The recorded instruction set extensions, in this program's spelling, from the `flags` line of
/// /proc/cpuinfo.
std::vector<std::string> isa_from_flags(std::string_view flags);

}  // namespace regatta::system
