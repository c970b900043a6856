// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "harness/cli/doctor_gpu.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cli {
namespace {

Diagnosis find(const std::string& feature, const system::MachineFacts& machine) {
  for (const Diagnosis& row : diagnose(machine, {.onednn = "2.6.3"}, "/nowhere")) {
    if (row.feature == feature) return row;
  }
  ADD_FAILURE() << "no row " << feature;
  return {};
}

TEST(Doctor, TellsWhetherTheCpuComputesInBf16) {
  EXPECT_EQ(find("CPU amx_bf16", {.isa = {"avx2", "amx_bf16"}}).finding, Finding::Ok);
  EXPECT_EQ(find("CPU amx_bf16", {.isa = {"avx2"}}).finding, Finding::Absent);
}

TEST(Doctor, AsksForTheExtensionsOfTheArchitecture) {
  const system::MachineFacts arm{.architecture = "aarch64", .isa = {"neon"}};
  EXPECT_EQ(find("CPU neon", arm).finding, Finding::Ok);
  EXPECT_EQ(find("CPU sve", arm).finding, Finding::Absent);
  for (const Diagnosis& row : diagnose(arm, {}, "/nowhere")) {
    EXPECT_FALSE(row.feature.starts_with("CPU av") || row.feature.starts_with("CPU am"));
  }
}

TEST(Doctor, NamesTheVersionsOfWhatItIsMadeOf) {
  const system::SoftwareFacts software{
      .compiler = "GNU 14.2.0", .onednn = "3.7.2", .open_mpi = "Open MPI v5.0.7", .grpc = "1.51.1"};
  const std::vector<Diagnosis> rows = diagnose({}, software, "/nowhere");
  std::set<std::string> found;
  for (const Diagnosis& row : rows) found.insert(row.feature + ": " + row.detail);
  for (const char* row : {"compiler: GNU 14.2.0", "oneDNN: 3.7.2", "gRPC: 1.51.1"}) {
    EXPECT_TRUE(found.count(row)) << row;
  }
  EXPECT_EQ(rows.front().feature, "distribution");
}

TEST(Doctor, KnowsTheDistributionByTheNameForPeople) {
  std::istringstream trixie(
      "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=x\n");
  EXPECT_EQ(distribution_in(trixie), "Debian GNU/Linux 13 (trixie)");
  std::istringstream none("ID=x\n");
  EXPECT_EQ(distribution_in(none), "unknown");
}

TEST(Doctor, SaysHowToGetMissingData) {
  const Diagnosis row = find("CIFAR-10", {});
  EXPECT_EQ(row.finding, Finding::Missing);
  EXPECT_EQ(row.detail, "/nowhere: 0 of 6 files, 0 genuine");
  EXPECT_EQ(row.fix, "ci/fetch_cifar10 /nowhere");
}

TEST(Doctor, EndsWithAVerdict) {
  const auto row = [](const std::string& feature, Finding finding) {
    return Diagnosis{.feature = feature, .finding = finding};
  };
  const Diagnosis ok = row("oneDNN", Finding::Ok), gpu = row("CUDA GPU", Finding::Absent);
  EXPECT_EQ(verdict_of(std::vector{ok}), "ready; every feature that can be installed is here");
  EXPECT_EQ(verdict_of(std::vector{ok, row("mpirun", Finding::Missing)}),
            "ready; 1 feature missing: mpirun");
  EXPECT_EQ(verdict_of(std::vector{ok, row("mpirun", Finding::Missing), gpu,
                                   row("CIFAR-10", Finding::Missing)}),
            "ready; 2 features missing: mpirun, CIFAR-10; without CUDA GPU");
}

const GpuFindings kH200{
    .toolkit = "13.0",
    .driver = "13.0",
    .gpus = {{.name = "NVIDIA H200", .memory_bytes = 151'000'000'000, .capability = "9.0"}},
    .missing = {}};

Diagnosis find_gpu_row(const std::string& feature, const system::MachineFacts& machine,
                       const GpuFindings& found, const std::vector<GpuLibrary>& libraries = {}) {
  for (const Diagnosis& row : diagnose_gpus(machine, found, libraries)) {
    if (row.feature == feature) return row;
  }
  ADD_FAILURE() << "no row " << feature;
  return {};
}

TEST(Doctor, NamesGpuAndDriver) {
  const system::MachineFacts machine{.gpus = {"NVIDIA H200"}, .driver = "580.1"};
  const Diagnosis gpu = find_gpu_row("CUDA GPU 0", machine, kH200);
  EXPECT_EQ(gpu.finding, Finding::Ok);
  EXPECT_EQ(gpu.detail, "NVIDIA H200, 151 GB, compute capability 9.0");
  const Diagnosis driver = find_gpu_row("NVIDIA driver", machine, kH200);
  EXPECT_EQ(driver.finding, Finding::Ok);
  EXPECT_EQ(driver.detail, "580.1; knows CUDA 13.0");
  EXPECT_EQ(find_gpu_row("CUDA", machine, kH200).detail, "built with 13.0");
}

TEST(Doctor, NamesTheProcessOfEachGpu) {
  GpuFindings two = kH200;
  two.gpus.push_back(two.gpus.front());
  EXPECT_EQ(find_gpu_row("CUDA GPU 0", {}, two).purpose, "--device cuda");
  EXPECT_EQ(find_gpu_row("CUDA GPU 1", {}, two).purpose, "--device cuda: process 1 of a host");
}

TEST(Doctor, TellsAMachineWithoutAGpuFromOneThatCannotUseIts) {
  const GpuFindings none{.toolkit = {}, .driver = {}, .gpus = {}, .missing = "build with CUDA"};
  EXPECT_EQ(find_gpu_row("CUDA", {}, none).finding, Finding::Missing);
  EXPECT_EQ(find_gpu_row("NVIDIA driver", {}, none).finding, Finding::Absent);
  EXPECT_EQ(find_gpu_row("CUDA GPU", {}, none).finding, Finding::Absent);
  const Diagnosis row = find_gpu_row("CUDA GPU", {.gpus = {"NVIDIA H200"}}, none);
  EXPECT_EQ(row.finding, Finding::Missing);
  EXPECT_EQ(row.detail, "1 x NVIDIA H200, which cannot be used");
  EXPECT_EQ(row.fix, "build with CUDA");
}

TEST(Doctor, SaysWhichGpuLibraryToInstall) {
  const std::vector<GpuLibrary> libraries{
      {.name = "cuDNN", .version = "9.14.0", .missing = {}, .package = "libcudnn9-cuda-13"},
      {.name = "NCCL", .version = {}, .missing = "not found", .package = "libnccl2"}};
  EXPECT_EQ(find_gpu_row("cuDNN", {}, kH200, libraries).detail, "9.14.0");
  const Diagnosis nccl = find_gpu_row("NCCL", {}, kH200, libraries);
  EXPECT_EQ(nccl.finding, Finding::Missing);
  EXPECT_EQ(nccl.detail, "not found");
  EXPECT_EQ(nccl.fix, "apt-get install libnccl2  (NVIDIA's repository)");
}

TEST(Doctor, OffersAMendForExactlyWhatIsMissing) {
  std::vector<Diagnosis> rows = diagnose({}, {}, "/nowhere");
  std::ranges::move(diagnose_gpus({}, find_gpus(), find_gpu_libraries()), std::back_inserter(rows));
  for (const Diagnosis& row : rows) {
    EXPECT_EQ(row.finding == Finding::Missing, !row.fix.empty()) << row.feature;
    EXPECT_FALSE(row.purpose.empty()) << row.feature;
  }
}

TEST(Doctor, PrintsATable) {
  std::ostringstream out;
  EXPECT_EQ(doctor(out, "/nowhere"), 0);
  for (const std::string_view part :
       {"oneDNN", "python3-matplotlib", "fix: ci/fetch_cifar10", "CUDA", "NVIDIA driver"}) {
    EXPECT_NE(out.str().find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace regatta::cli
