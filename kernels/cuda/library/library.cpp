// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/library/library.h"

#include <array>

#include "kernels/runtime/shared_library.h"

namespace regatta::cuda {
namespace {

/// The version with alignment preferences and f32 results of bf16 products, which our calls need.
constexpr std::int64_t kOldestCublasLt = 120000;

CublasLt load_cublas_lt() {
  const SharedLibrary library(kCublasLt);
  CublasLt table;
  library.find(table.get_version, "cublasLtGetVersion");
  library.require(static_cast<std::int64_t>(table.get_version()), kOldestCublasLt, "12.0");
  library.find(table.get_status_string, "cublasLtGetStatusString");
  library.find(table.create, "cublasLtCreate");
  library.find(table.destroy, "cublasLtDestroy");
  library.find(table.matmul, "cublasLtMatmul");
  library.find(table.matmul_desc_create, "cublasLtMatmulDescCreate");
  library.find(table.matmul_desc_destroy, "cublasLtMatmulDescDestroy");
  library.find(table.matmul_desc_set_attribute, "cublasLtMatmulDescSetAttribute");
  library.find(table.matrix_layout_create, "cublasLtMatrixLayoutCreate");
  library.find(table.matrix_layout_destroy, "cublasLtMatrixLayoutDestroy");
  library.find(table.preference_create, "cublasLtMatmulPreferenceCreate");
  library.find(table.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  library.find(table.preference_set_attribute, "cublasLtMatmulPreferenceSetAttribute");
  library.find(table.algo_get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.find(table.algo_config_get_attribute, "cublasLtMatmulAlgoConfigGetAttribute");
  return table;
}

}  // namespace

const CublasLt& cublas_lt() {
  static const CublasLt table = load_cublas_lt();
  return table;
}

std::string why_no_cublas_lt() { return why_not(cublas_lt); }
std::string why_no_cudnn() { return why_not(cudnn); }

std::optional<std::string> version_of_cublas_lt() {
  if (!why_no_cublas_lt().empty()) return std::nullopt;
  return version_text(cublas_lt().get_version());
}

std::optional<std::string> version_of_cudnn() {
  if (!why_no_cudnn().empty()) return std::nullopt;
  return version_text(cudnn().get_version());
}

void cublas_lt_call(cublasStatus_t status, std::string_view call, std::source_location where) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  call_failed(call, cublas_lt().get_status_string(status), where);
}

void cudnn_call(cudnnStatus_t status, std::string_view call, std::source_location where) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> details{};
  cudnn().get_last_error_string(details.data(), details.size());
  call_failed(call, std::string(cudnn().get_error_string(status)) + " (" + details.data() + ")",
              where);
}

}  // namespace regatta::cuda
