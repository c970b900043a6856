// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/doctor_gpu.h"

#include <fmt/format.h>

namespace regatta::cli {
namespace {

constexpr char kDevice[] = "--device cuda";

Diagnosis diagnose_toolkit(const GpuFindings& found) {
  const bool built = !found.toolkit.empty();
  return {
      .feature = "CUDA",
      .finding = built ? Finding::Ok : Finding::Missing,
      .detail = built ? "built with " + found.toolkit : "not in this build",
      .purpose = kDevice,
      .fix = built ? "" : "put nvcc on PATH, cmake -DREGATTA_CUDA=ON BUILD_FOLDER, build again"};
}

Diagnosis diagnose_driver(const system::MachineFacts& machine, const GpuFindings& found) {
  const bool loaded = machine.driver || !found.driver.empty();
  std::string detail = loaded ? machine.driver.value_or("loaded") : "none is loaded";
  if (!found.driver.empty()) detail += "; knows CUDA " + found.driver;
  return {.feature = "NVIDIA driver",
          .finding = loaded ? Finding::Ok : Finding::Absent,
          .detail = detail,
          .purpose = kDevice,
          .fix = ""};
}

/// The row for a machine without a usable GPU: none is there, or other software is missing.
Diagnosis diagnose_no_gpu(const system::MachineFacts& machine, const GpuFindings& found) {
  if (machine.gpus.empty()) {
    return {.feature = "CUDA GPU",
            .finding = Finding::Absent,
            .detail = found.missing,
            .purpose = kDevice,
            .fix = ""};
  }
  return {.feature = "CUDA GPU",
          .finding = Finding::Missing,
          .detail = fmt::format("{} x {}, which cannot be used", machine.gpus.size(),
                                machine.gpus.front()),
          .purpose = kDevice,
          .fix = found.missing};
}

std::string purpose_of(const std::string& library) {
  if (library == "cuBLASLt") return "--device cuda: dense layers at full speed";
  if (library == "cuDNN") return "--device cuda: convolutions at full speed";
  return "--device cuda: all_reduce between GPUs";
}

Diagnosis diagnose_library(const GpuLibrary& library) {
  const bool found = !library.version.empty();
  return {.feature = library.name,
          .finding = found ? Finding::Ok : Finding::Missing,
          .detail = found ? library.version : library.missing,
          .purpose = purpose_of(library.name),
          .fix = found ? ""
                       : fmt::format("apt-get install {}  (NVIDIA's repository)", library.package)};
}

}  // namespace

std::string to_text(const GpuFacts& gpu) {
  return fmt::format("{}, {:.0f} GB, compute capability {}", gpu.name,
                     static_cast<double>(gpu.memory_bytes) / 1e9, gpu.capability);
}

std::vector<Diagnosis> diagnose_gpus(const system::MachineFacts& machine, const GpuFindings& found,
                                     const std::vector<GpuLibrary>& libraries) {
  std::vector<Diagnosis> rows{diagnose_toolkit(found), diagnose_driver(machine, found)};
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    rows.push_back(
        {.feature = fmt::format("CUDA GPU {}", i),
         .finding = Finding::Ok,
         .detail = to_text(found.gpus[i]),
         .purpose = i == 0 ? kDevice : fmt::format("{}: process {} of a host", kDevice, i),
         .fix = ""});
  }
  if (found.gpus.empty()) rows.push_back(diagnose_no_gpu(machine, found));
  for (const GpuLibrary& library : libraries) rows.push_back(diagnose_library(library));
  return rows;
}

}  // namespace regatta::cli
