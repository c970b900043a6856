// SPDX-License-Identifier: Apache-2.0
#include "harness/system/machine.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <hwloc.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "harness/system/build_facts.h"
#include "harness/system/control_group.h"
#include "kernels/base/error.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta::system {
namespace {

namespace fs = std::filesystem;

/// The kernel's name of an extension, and the recorded one.
struct Extension {
  std::string_view flag;
  std::string_view name;
};

constexpr std::array kExtensions = {
    Extension{"avx2", "avx2"},
    Extension{"avx512f", "avx512f"},
    Extension{"avx512_vnni", "avx512_vnni"},
    Extension{"avx512_bf16", "avx512_bf16"},
    Extension{"amx_bf16", "amx_bf16"},
    Extension{"asimd", "neon"},
    Extension{"sve", "sve"},
    Extension{"bf16", "arm_bf16"},
};

/// The numbers in an Arm processor's identification register, and its name.
struct ArmModel {
  std::string_view implementer;
  std::string_view part;
  std::string_view name;
};

/// Source: lscpu-arm.c of util-linux.
constexpr std::array kArmModels = {
    ArmModel{"0x41", "0xd08", "Arm Cortex-A72"},  ArmModel{"0x41", "0xd0b", "Arm Cortex-A76"},
    ArmModel{"0x41", "0xd0c", "Arm Neoverse-N1"}, ArmModel{"0x41", "0xd40", "Arm Neoverse-V1"},
    ArmModel{"0x41", "0xd49", "Arm Neoverse-N2"}, ArmModel{"0x41", "0xd4f", "Arm Neoverse-V2"},
    ArmModel{"0x41", "0xd84", "Arm Neoverse-V3"}, ArmModel{"0x41", "0xd8e", "Arm Neoverse-N3"},
    ArmModel{"0x46", "0x001", "Fujitsu A64FX"},   ArmModel{"0x48", "0xd01", "HiSilicon TSV110"},
    ArmModel{"0x61", "0x000", "Apple processor"}, ArmModel{"0xc0", "0xac3", "Ampere-1"},
    ArmModel{"0xc0", "0xac4", "Ampere-1a"},
};

/// Variables that libraries read, and the one in which ci/hosts describes its links; records hold
/// no others.
constexpr std::array<std::string_view, 15> kRecordedPrefixes = {
    "OMP_", "GOMP_", "KMP_",  "ONEDNN_", "DNNL_",   "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_",
    "UCX_", "NCCL_", "CUDA_", "CUDNN_",  "CUBLAS_", "HWLOC_",    "MALLOC_"};
constexpr std::array<std::string_view, 7> kRecordedNames = {
    "LD_PRELOAD", "GLIBC_TUNABLES",     "NVIDIA_TF32_OVERRIDE", "GRPC_VERBOSITY",
    "GRPC_TRACE", "GRPC_POLL_STRATEGY", "REGATTA_HOSTS_LINKS"};

/// The rest of the file's first line that starts with `key`, without separators such as `: `.
std::string line_after(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

/// Loads the part of the machine on which this process may run.
Topology load_topology() {
  hwloc_topology_t topology = nullptr;
  check(hwloc_topology_init(&topology) == 0, "hwloc gives a topology");
  Topology owned(topology, hwloc_topology_destroy);
  hwloc_topology_set_flags(
      topology, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  check(hwloc_topology_load(topology) == 0, "hwloc loads the topology");
  return owned;
}

std::string cpu_model(hwloc_topology_t topology) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
  const char* model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : nullptr;
  if (model && *model) return model;
  return arm_model(line_after("/proc/cpuinfo", "CPU implementer"),
                   line_after("/proc/cpuinfo", "CPU part"));
}

std::int64_t count_of_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return sysconf(_SC_NPROCESSORS_ONLN);
  return CPU_COUNT(&set);
}

/// Reads the list of NVIDIA's kernel driver; needs no library.
std::vector<std::string> nvidia_gpus() {
  std::vector<std::string> gpus;
  std::error_code none;
  for (const fs::directory_entry& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", none)) {
    gpus.push_back(line_after(gpu.path() / "information", "Model"));
  }
  return gpus;
}

std::optional<std::string> nvidia_driver() {
  std::string version = line_after("/proc/driver/nvidia/version", "NVRM version");
  if (version.empty()) return std::nullopt;
  return version;
}

/// Returns `Open MPI v4.1.4` or `MPICH 4.0.2`, without the package and the dates that follow.
std::optional<std::string> mpi_version() {
  const std::string version = comm::MpiSession::library_version();
  std::istringstream words(version.substr(0, version.find_first_of(",\n")));
  std::string text;
  for (std::string word; words >> word;) {
    if (word != "Version:") text += (text.empty() ? "" : " ") + word;
  }
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace

std::string arm_model(std::string_view implementer, std::string_view part) {
  if (implementer.empty()) return "unknown";
  for (const ArmModel& model : kArmModels) {
    if (model.implementer == implementer && model.part == part) return std::string(model.name);
  }
  return fmt::format("Arm processor of implementer {}, part {}", implementer, part);
}

std::vector<std::string> isa_from_flags(std::string_view flags) {
  std::istringstream words{std::string(flags)};
  std::set<std::string> given;
  for (std::string word; words >> word;) given.insert(word);
  std::vector<std::string> isa;
  for (const Extension& extension : kExtensions) {
    if (given.count(std::string(extension.flag))) isa.emplace_back(extension.name);
  }
  return isa;
}

std::optional<double> others_from_loadavg(std::string_view text) {
  std::istringstream words{std::string(text)};
  double average = 0;
  double running = 0;
  if (!(words >> average >> average >> average >> running) || words.get() != '/') return {};
  return std::max(running - 1, 0.0);
}

std::optional<double> load_of_others() {
  constexpr int kLooks = 20;
  double sum = 0;
  for (int i = 0; i < kLooks; ++i) {
    const std::optional<double> others = others_from_loadavg(line_after("/proc/loadavg", ""));
    if (!others) return std::nullopt;
    sum += *others;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return sum / kLooks;
}

std::optional<std::int64_t> sent_from_net_dev(std::string_view text) {
  constexpr int kFieldsBefore = 8;  // those of the receiving side
  std::istringstream lines{std::string(text)};
  std::optional<std::int64_t> sum;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;  // the two lines of the heading
    std::istringstream fields(line.substr(colon + 1));
    std::int64_t bytes = 0;
    for (int i = 0; i <= kFieldsBefore; ++i) fields >> bytes;
    if (!fields) return std::nullopt;
    sum = sum.value_or(0) + bytes;
  }
  return sum;
}

std::optional<std::int64_t> bytes_sent_by_interfaces() {
  std::ifstream file("/proc/net/dev");
  return sent_from_net_dev(std::string(std::istreambuf_iterator<char>(file), {}));
}

MachineFacts machine_facts() {
  MachineFacts facts;
  const Topology topology = load_topology();
  facts.cpu = cpu_model(topology.get());
  std::string flags = line_after("/proc/cpuinfo", "flags");
  if (flags.empty()) flags = line_after("/proc/cpuinfo", "Features");  // the name on ARM
  utsname names{};
  uname(&names);
  facts.architecture = names.machine;
  facts.isa = isa_from_flags(flags);
  facts.cores_available = count_of_cores();
  facts.cores_physical = std::max(1, hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE));
  facts.cores_used = facts.cores_available;
  facts.cpu_quota = cpu_quota();
  facts.memory_bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  facts.gpus = nvidia_gpus();
  facts.driver = nvidia_driver();
  return facts;
}

SoftwareFacts software_facts() {
  return {.compiler = build_facts::kCompiler,
          .onednn = build_facts::kOnednn,
          .open_mpi = mpi_version(),
          .grpc = grpc::Version(),
          .cuda = *build_facts::kCuda == 0 ? std::nullopt
                                           : std::optional<std::string>(build_facts::kCuda),
          .cudnn = {},
          .nccl = {},
          .git_commit = build_facts::kGitCommit,
          .dirty = build_facts::kDirty};
}

std::string version_line(const SoftwareFacts& facts) {
  return fmt::format("regatta {}, commit {}{}; {}; oneDNN {}, {}, gRPC {}, CUDA {}",
                     build_facts::kVersion, facts.git_commit,
                     facts.dirty ? " with uncommitted changes" : "", facts.compiler, facts.onednn,
                     facts.open_mpi.value_or("no MPI"), facts.grpc.value_or("none"),
                     facts.cuda.value_or("none"));
}

void add_gpu_libraries(const std::vector<GpuLibrary>& found, SoftwareFacts& facts) {
  for (const GpuLibrary& library : found) {
    if (library.version.empty()) continue;
    if (library.name == "cuDNN") facts.cudnn = library.version;
    if (library.name == "NCCL") facts.nccl = library.version;
  }
}

bool is_recorded_variable(std::string_view name) {
  const auto starts = [name](std::string_view prefix) { return name.rfind(prefix, 0) == 0; };
  return std::any_of(kRecordedPrefixes.begin(), kRecordedPrefixes.end(), starts) ||
         std::find(kRecordedNames.begin(), kRecordedNames.end(), name) != kRecordedNames.end();
}

std::map<std::string, std::string> environment_facts() {
  std::map<std::string, std::string> facts;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == text.npos || !is_recorded_variable(text.substr(0, equals))) continue;
    facts.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return facts;
}

}  // namespace regatta::system
