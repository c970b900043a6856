// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/gpu_facts.h"

#include <cuda_runtime.h>

#include "kernels/runtime/shared_library.h"

namespace regatta {
namespace {

/// The version as text, `13.0` for 13000.
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string why_none(cudaError_t status, const std::string& driver) {
  const std::string built = "this build has CUDA " + cuda_version(CUDART_VERSION);
  if (driver.empty()) {
    return "there is no NVIDIA driver here: install one that knows CUDA " +
           cuda_version(CUDART_VERSION) + ", or use --device cpu";
  }
  if (status == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver knows CUDA " + driver + " and " + built +
           ": install a newer driver, or use --device cpu";
  }
  return "the NVIDIA driver shows no GPU (" + std::string(cudaGetErrorString(status)) +
         "): look at nvidia-smi and at CUDA_VISIBLE_DEVICES, or use --device cpu";
}

GpuFacts facts_of(int device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return {.name = "unknown"};
  return {.name = properties.name,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          .capability = std::to_string(properties.major) + "." + std::to_string(properties.minor)};
}

/// `get_version`: gets the version number from the loaded library.
GpuLibrary find_library(const std::string& name, const SharedLibrary::Name& file,
                        std::size_t (*get_version)(const SharedLibrary&)) {
  GpuLibrary library{.name = name, .version = {}, .missing = {}, .package = file.package};
  try {
    library.version = version_text(get_version(SharedLibrary(file)));
  } catch (const RunError& error) {
    library.missing = error.what();
  }
  return library;
}

std::size_t version_of_cublas_lt(const SharedLibrary& library) {
  std::size_t (*get)() = nullptr;
  library.find(get, "cublasLtGetVersion");
  return get();
}

std::size_t version_of_cudnn(const SharedLibrary& library) {
  std::size_t (*get)() = nullptr;
  library.find(get, "cudnnGetVersion");
  return get();
}

std::size_t version_of_nccl(const SharedLibrary& library) {
  int (*get)(int*) = nullptr;
  library.find(get, "ncclGetVersion");
  int version = 0;
  return get(&version) == 0 ? static_cast<std::size_t>(version) : 0;
}

GpuFindings look_for_gpus() {
  GpuFindings findings{
      .toolkit = cuda_version(CUDART_VERSION), .driver = {}, .gpus = {}, .missing = {}};
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
    findings.driver = cuda_version(driver);
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();  // otherwise the next call's check would report it
  if (status != cudaSuccess || count == 0) {
    findings.missing = why_none(status, findings.driver);
    return findings;
  }
  for (int device = 0; device < count; ++device) findings.gpus.push_back(facts_of(device));
  return findings;
}

}  // namespace

GpuFindings find_gpus() {
  static const GpuFindings findings = look_for_gpus();  // they do not change while a program runs
  return findings;
}

std::vector<GpuLibrary> find_gpu_libraries() {
  return {find_library("cuBLASLt", kCublasLt, version_of_cublas_lt),
          find_library("cuDNN", kCudnn, version_of_cudnn),
          find_library("NCCL", kNcclLibrary, version_of_nccl)};
}

}  // namespace regatta
