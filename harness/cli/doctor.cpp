// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "harness/cli/doctor_gpu.h"
#include "harness/ranks/mpirun.h"
#include "harness/run/peak.h"
#include "harness/system/child.h"
#include "harness/system/number.h"
#include "harness/system/process.h"
#include "harness/system/program_files.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"
#include "kernels/comm/mpi/mpi_library.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"
#include "workloads/data/cifar10.h"
#include "workloads/workload.h"

namespace regatta::cli {
namespace {

Diagnosis version_row(const std::string& feature, const std::string& version,
                      const std::string& purpose) {
  return {
      .feature = feature, .finding = Finding::Ok, .detail = version, .purpose = purpose, .fix = ""};
}

Diagnosis diagnose_isa(const system::MachineFacts& machine, const std::string& name,
                       const std::string& purpose) {
  const bool found = std::find(machine.isa.begin(), machine.isa.end(), name) != machine.isa.end();
  return {.feature = "CPU " + name,
          .finding = found ? Finding::Ok : Finding::Absent,
          .detail = found ? "found" : "this CPU does not have it",
          .purpose = purpose,
          .fix = ""};
}

Diagnosis diagnose_mpi(const system::SoftwareFacts& software) {
  const comm::MpiLibrary& library = comm::mpi_library();
  const bool found = library.table != nullptr;
  std::string detail = library.problem;
  if (found) {
    detail = fmt::format("{}, {}, because {}", software.open_mpi.value_or("unknown"), library.path,
                         library.reason);
  }
  if (!library.others.empty()) detail += fmt::format("; not {}", fmt::join(library.others, ", "));
  return {.feature = "MPI library",
          .finding = found ? Finding::Ok : Finding::Missing,
          .detail = detail,
          .purpose = "--processes: exchanges between processes",
          .fix = found ? "" : library.fix};
}

Diagnosis diagnose_mpirun() {
  const std::string version = ranks::mpirun_version();
  const std::string foreign = ranks::why_not_mpirun(version, comm::mpi_library().kind);
  Diagnosis row{.feature = "mpirun",
                .finding = Finding::Missing,
                .detail = "not in PATH",
                .purpose = "--processes: all_reduce and parameter servers over processes",
                .fix = comm::kGetMpi};
  if (version.empty()) return row;
  if (!foreign.empty()) {
    row.detail = foreign;
    row.fix = comm::kPreferMpi;
    return row;
  }
  row.finding = Finding::Ok;
  row.detail = version.starts_with("HYDRA") ? "MPICH's" : version;
  row.fix = "";
  return row;
}

Diagnosis diagnose_python(const std::string& package, const std::string& purpose) {
  const std::string version =
      system::first_line_of({system::python(), system::isolated(), "-c",
                             fmt::format("import {0}; print({0}.__version__)", package)});
  const bool found = !version.empty();
  return {.feature = "python3-" + package,
          .finding = found ? Finding::Ok : Finding::Missing,
          .detail = found ? version : "not importable by " + system::python(),
          .purpose = purpose,
          .fix = found ? "" : "apt-get install python3-" + package};
}

Diagnosis diagnose_cifar10(const std::string& folder) {
  const std::vector<workloads::FileCheck> files = workloads::check_cifar10(folder);
  const auto count = [&files](bool workloads::FileCheck::*property) {
    return std::count_if(files.begin(), files.end(),
                         [property](const workloads::FileCheck& file) { return file.*property; });
  };
  const auto genuine = count(&workloads::FileCheck::genuine);
  const bool ok = genuine == static_cast<std::ptrdiff_t>(files.size());
  return {.feature = "CIFAR-10",
          .finding = ok ? Finding::Ok : Finding::Missing,
          .detail = fmt::format("{}: {} of {} files, {} genuine", folder,
                                count(&workloads::FileCheck::size_ok), files.size(), genuine),
          .purpose = "--dataset cifar10 (--dataset shapes needs no file)",
          .fix = ok ? "" : system::callable("ci/fetch_cifar10") + " " + folder};
}

/// The environments that ci/contenders/environment.py has made.
Diagnosis diagnose_frameworks() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder =
      (cache ? std::filesystem::path(cache)
             : std::filesystem::path(home ? home : "/nonexistent") / ".cache") /
      "regatta";
  std::set<std::string> found, missing{"torch", "tensorflow", "jax"};
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    for (const std::string framework : {"torch", "tensorflow", "jax"}) {
      if (!name.starts_with(framework + "-")) continue;
      found.insert(name);
      missing.erase(framework);
    }
  }
  return {.feature = "frameworks",
          .finding = found.empty() ? Finding::Missing : Finding::Ok,
          .detail = found.empty() ? "none in " + folder.string()
                                  : fmt::format("{}", fmt::join(found, ", ")),
          .purpose = "races beside PyTorch, TensorFlow and JAX (ci/contenders)",
          .fix = missing.empty() ? ""
                                 : fmt::format("ci/contenders/environment.py {}, in a checkout",
                                               fmt::join(missing, " or "))};
}

constexpr std::size_t kMarkColumns = 11;

std::string_view mark(Finding finding) {
  switch (finding) {
    case Finding::Ok: return "ok";
    case Finding::Missing: return "missing";
    case Finding::Absent: return "no";
  }
  return "unknown";
}

}  // namespace

std::string distribution_in(std::istream& os_release) {
  constexpr std::string_view kKey = "PRETTY_NAME=";
  for (std::string line; std::getline(os_release, line);) {
    if (!line.starts_with(kKey)) continue;
    std::erase(line, '"');
    return line.substr(kKey.size());
  }
  return "unknown";
}

std::vector<Diagnosis> diagnose(const system::MachineFacts& machine,
                                const system::SoftwareFacts& software,
                                const std::string& data_dir) {
  std::ifstream os_release("/etc/os-release");
  const std::string kernels = chosen_cpu_kernels();
  const bool on_arm = machine.architecture == "aarch64";
  return {version_row("distribution", distribution_in(os_release),
                      "what ci/packages.sh installs, on Debian 12, 13 and Ubuntu 24.04"),
          version_row("compiler", software.compiler, "this program"),
          version_row("oneDNN", software.onednn, "every run on the CPU"),
          version_row("CPU kernels", kernels.empty() ? "as the program" : "for " + kernels,
                      "every run on the CPU; ONEDNN_MAX_CPU_ISA limits oneDNN and them"),
          version_row("gRPC", software.grpc.value_or("none"),
                      "--processes: control of ranks, parameter servers, asynchronous loops"),
          diagnose_mpi(software),
          diagnose_mpirun(),
          on_arm ? diagnose_isa(machine, "neon", "f32")
                 : diagnose_isa(machine, "avx512f", "f32 at full speed"),
          on_arm ? diagnose_isa(machine, "sve", "f32 at full speed")
                 : diagnose_isa(machine, "avx512_bf16", "--dtype bf16"),
          on_arm ? diagnose_isa(machine, "arm_bf16", "--dtype bf16, if oneDNN is built for it")
                 : diagnose_isa(machine, "amx_bf16",
                                "--dtype bf16 at full speed; without it f32 may be the faster one"),
          diagnose_python("matplotlib", "figures"),
          diagnose_python("jinja2", "regatta report"),
          diagnose_cifar10(data_dir.empty()
                               ? std::string(workloads::find_data_source("cifar10")->folder)
                               : data_dir),
          diagnose_frameworks()};
}

std::string verdict_of(std::span<const Diagnosis> rows) {
  const auto features = [rows](Finding finding) {
    std::vector<std::string> names;
    for (const Diagnosis& row : rows) {
      if (row.finding == finding) names.push_back(row.feature);
    }
    return names;
  };
  const std::vector<std::string> missing = features(Finding::Missing);
  const std::vector<std::string> absent = features(Finding::Absent);
  std::string text = "ready; every feature that can be installed is here";
  if (!missing.empty()) {
    text = fmt::format("ready; {} feature{} missing: {}", missing.size(),
                       missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
  }
  if (!absent.empty()) text += fmt::format("; without {}", fmt::join(absent, ", "));
  return text;
}

void print_roofline(std::ostream& out) {
  const std::vector<int> all = system::available_cores(0);
  out << fmt::format("{:<20} {:>12} {:>12}\n", "roofline", "1 core",
                     system::plural(std::ssize(all), "core"));
  const auto row = [&](const std::string& name, const auto& measure) {
    out << fmt::format("{:<20} {:>12.1f} {:>12.1f}\n", name, measure({all[0]}) * 1e-9,
                       measure(all) * 1e-9);
  };
  using Cores = std::vector<int>;
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    const std::string name = fmt::format("{} GFLOP/s", to_string(element));
    try {
      row(name, [&](const Cores& cores) { return run::measured_peak(element, cores).flops_per_s; });
    } catch (const RunError& error) {
      if (error.kind() != ErrorKind::Unsupported) throw;
      out << fmt::format("{:<20} {:>12} {:>12}  not on this processor\n", name, "-", "-");
    }
  }
  row("memory GB/s", [](const Cores& cores) { return run::measured_bandwidth(cores); });
}

int doctor(std::ostream& out, const std::string& data_dir) {
  const system::MachineFacts machine = system::machine_facts();
  const system::SoftwareFacts software = system::software_facts();
  const auto show = [&out](const std::string& line, std::size_t indent = 0) {
    out << system::in_columns(line, indent) << '\n';
  };
  show(system::version_line(software));
  show(fmt::format("{}, {}: {} logical cores on {} physical, {:.1f} GB of memory\n", machine.cpu,
                   machine.architecture, machine.cores_available, machine.cores_physical,
                   static_cast<double>(machine.memory_bytes) / 1e9));
  if (machine.cpu_quota) {
    show(fmt::format("The control group limits this process to {:.2f} cores.\n",
                     *machine.cpu_quota));
  }
  std::vector<Diagnosis> rows = diagnose(machine, software, data_dir);
  std::ranges::move(diagnose_gpus(machine, find_gpus(), find_gpu_libraries()),
                    std::back_inserter(rows));
  std::size_t width = 0;
  for (const Diagnosis& row : rows) width = std::max(width, row.feature.size());
  for (const Diagnosis& row : rows) {
    const std::string left(width + kMarkColumns, ' ');
    show(fmt::format("{:<{}}  {:<7}  {}", row.feature, width, mark(row.finding), row.detail),
         left.size());
    show(left + "for " + row.purpose, left.size());
    if (!row.fix.empty()) show(left + "fix: " + row.fix, left.size());
  }
  show('\n' + verdict_of(rows));
  return 0;
}

}  // namespace regatta::cli
