// SPDX-License-Identifier: Apache-2.0
//
// The machine, software and environment of a measurement, as stored in its record. Nothing here
// identifies a person: no host name (a record has it beside each worker), and environment variables
// by allow-list only.
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
  std::string cpu;               ///< model, in the maker's words
  std::vector<std::string> isa;  ///< the CPU's instruction set extensions among those that matter
  std::int64_t cores_available = 0;  ///< logical, that this process may run on
  std::int64_t cores_physical = 0;   ///< the physical ones behind them
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
  std::optional<std::string> open_mpi;  ///< empty here and below: not in this build
  std::optional<std::string> grpc;
  std::optional<std::string> cuda;
  std::optional<std::string> cudnn;
  std::optional<std::string> nccl;
  std::string git_commit;  ///< `unknown` when not built from a git checkout
  bool dirty = false;      ///< the sources differed from that commit
};

MachineFacts machine_facts();
/// Does not include libraries that are loaded for GPUs.
SoftwareFacts software_facts();
/// Version, commit, compiler and libraries of this program in a line.
std::string version_line(const SoftwareFacts& facts);
void add_gpu_libraries(const std::vector<GpuLibrary>& found, SoftwareFacts& facts);

/// The variables of this process that libraries read and that can change a measurement.
std::map<std::string, std::string> environment_facts();

/// True for a variable that belongs in a record: OMP_NUM_THREADS is, HOME is not.
bool is_recorded_variable(std::string_view name);

/// Threads that run or wait for a core of the machine, but the one that asks: mean of 20 looks, one
/// in a millisecond. Unlike an average over a minute it knows nothing of a run before this one.
/// Empty where the kernel does not tell.
std::optional<double> load_of_others();
/// The same by one look, from the text of /proc/loadavg, "0.20 0.18 0.12 1/80 11206".
std::optional<double> others_from_loadavg(std::string_view text);

/// The extensions that matter, in our spelling, among the flags of a line of /proc/cpuinfo.
std::vector<std::string> isa_from_flags(std::string_view flags);

}  // namespace regatta
