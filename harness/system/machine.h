// SPDX-License-Identifier: Apache-2.0
//
// The machine, software and environment of a measurement, as stored in its record. None of it
// identifies a person: host names are absent (a record has them with its workers), and environment
// variables must be on a list.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/runtime/gpu_facts.h"

namespace regatta {

struct MachineFacts {
  std::string cpu;                   ///< model, as the maker names it
  std::vector<std::string> isa;      ///< recorded instruction set extensions that the CPU has
  std::int64_t cores_available = 0;  ///< logical cores that this process may run on
  std::int64_t cores_physical = 0;   ///< physical cores behind those
  std::int64_t cores_used = 0;       ///< by the run; by default all available ones
  std::optional<double> cpu_quota;   ///< of the control group. Units: cores
  std::int64_t memory_bytes = 0;
  std::vector<std::string> gpus;
  std::optional<std::string> driver;   ///< of the GPUs
  std::string link = "shared_memory";  ///< between workers
};

struct SoftwareFacts {
  std::string compiler;  ///< with build type and target instruction set
  std::string onednn;
  std::optional<std::string> open_mpi;  ///< here and below: empty if not in this build
  std::optional<std::string> grpc;
  std::optional<std::string> cuda;
  std::optional<std::string> cudnn;
  std::optional<std::string> nccl;
  std::string git_commit;  ///< `unknown` if not built from a git checkout
  bool dirty = false;      ///< the sources differed from that commit
};

MachineFacts machine_facts();
/// The software of this build, without libraries that are loaded for GPUs.
SoftwareFacts software_facts();
/// Formats version, commit, compiler and libraries of this program as a line.
std::string version_line(const SoftwareFacts& facts);
void add_gpu_libraries(const std::vector<GpuLibrary>& found, SoftwareFacts& facts);

/// The recorded environment variables, which libraries read and which can change a measurement.
std::map<std::string, std::string> environment_facts();

/// True for a variable that belongs in a record: OMP_NUM_THREADS is, HOME is not.
bool is_recorded_variable(std::string_view name);

/// The number of threads that run or wait for a core of the machine, without the calling one: the
/// mean of 20 samples, one per millisecond. Unlike a minute's average it excludes an earlier run.
/// Empty if the kernel does not report it.
std::optional<double> load_of_others();
/// One such sample, from the text of /proc/loadavg, "0.20 0.18 0.12 1/80 11206".
std::optional<double> others_from_loadavg(std::string_view text);

/// Recorded extensions, in our spelling, from a line of flags in /proc/cpuinfo.
std::vector<std::string> isa_from_flags(std::string_view flags);

}  // namespace regatta
