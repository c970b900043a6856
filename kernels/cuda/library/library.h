// SPDX-License-Identifier: Apache-2.0
//
// cuBLASLt and cuDNN, loaded at run time (kernels/runtime/shared_library.h): a table of functions
// for each library, named like the library's functions without their prefix and filled at first
// use. Types come from the libraries' headers; nothing is linked. NCCL's table is in
// kernels/comm/nccl/nccl_calls.h because of the include rules.
#pragma once

#include <cublasLt.h>
#include <cudnn_graph.h>

#include <optional>
#include <source_location>
#include <string>
#include <string_view>

namespace regatta::cuda {

struct CublasLt {
  decltype(cublasLtGetVersion)* get_version = nullptr;
  decltype(cublasLtGetStatusString)* get_status_string = nullptr;
  decltype(cublasLtCreate)* create = nullptr;
  decltype(cublasLtDestroy)* destroy = nullptr;
  decltype(cublasLtMatmul)* matmul = nullptr;
  decltype(cublasLtMatmulDescCreate)* matmul_desc_create = nullptr;
  decltype(cublasLtMatmulDescDestroy)* matmul_desc_destroy = nullptr;
  decltype(cublasLtMatmulDescSetAttribute)* matmul_desc_set_attribute = nullptr;
  decltype(cublasLtMatrixLayoutCreate)* matrix_layout_create = nullptr;
  decltype(cublasLtMatrixLayoutDestroy)* matrix_layout_destroy = nullptr;
  decltype(cublasLtMatmulPreferenceCreate)* preference_create = nullptr;
  decltype(cublasLtMatmulPreferenceDestroy)* preference_destroy = nullptr;
  decltype(cublasLtMatmulPreferenceSetAttribute)* preference_set_attribute = nullptr;
  decltype(cublasLtMatmulAlgoGetHeuristic)* algo_get_heuristic = nullptr;
  decltype(cublasLtMatmulAlgoConfigGetAttribute)* algo_config_get_attribute = nullptr;
};

struct Cudnn {
  decltype(cudnnGetVersion)* get_version = nullptr;
  decltype(cudnnGetErrorString)* get_error_string = nullptr;
  decltype(cudnnGetLastErrorString)* get_last_error_string = nullptr;
  decltype(cudnnCreate)* create = nullptr;
  decltype(cudnnDestroy)* destroy = nullptr;
  decltype(cudnnSetStream)* set_stream = nullptr;
  decltype(cudnnBackendCreateDescriptor)* create_descriptor = nullptr;
  decltype(cudnnBackendDestroyDescriptor)* destroy_descriptor = nullptr;
  decltype(cudnnBackendFinalize)* finalize = nullptr;
  decltype(cudnnBackendSetAttribute)* set_attribute = nullptr;
  decltype(cudnnBackendGetAttribute)* get_attribute = nullptr;
  decltype(cudnnBackendExecute)* execute = nullptr;
};

/// Returns the library's table, which is loaded at the first call. Throws: RunError(Unsupported)
/// that names the package and the places searched. Threads: any.
const CublasLt& cublas_lt();
const Cudnn& cudnn();

/// Returns the reason why the library cannot be used, in one line; empty if it can.
std::string why_no_cublas_lt();
std::string why_no_cudnn();

/// Returns the library's version, such as `13.1.1`; empty if it is not installed or too old.
std::optional<std::string> version_of_cublas_lt();
std::optional<std::string> version_of_cudnn();

/// Checks that `status` is success. Throws: RunError(Device) with the call's name, the library's
/// message and the caller's line.
void cublas_lt_call(cublasStatus_t status, std::string_view call,
                    std::source_location where = std::source_location::current());
void cudnn_call(cudnnStatus_t status, std::string_view call,
                std::source_location where = std::source_location::current());

}  // namespace regatta::cuda
