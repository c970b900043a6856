// SPDX-License-Identifier: Apache-2.0
//
// dense by cuBLASLt. Its matrices are column-major, so our [rows, columns] is its transpose: y = x
// wᵀ becomes Y = Wᵀ X with W [I, O], X [I, B], Y [O, B], each contiguous along its first side, and
// so do dX = W dY and dW = X dYᵀ.
// f32 is computed in f32 (TensorFloat-32 is another compute type, which is not requested), bf16
// with f32 sums, also in split products, whose parts are added in a fixed order. The algorithm is
// the first that the library's heuristics name for these sizes, addresses and workspace, queried
// once when the kernel is built. Unlike a convolution's engine (engine_choice.h) it is not chosen
// by trials: dense layers take a small part of these models' steps, and so all processes and runs
// use the same algorithm.
#include <memory>
#include <string>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/dense_paths.h"

namespace regatta::cuda {
namespace {

/// Most memory of an algorithm for split sums. Source: cuBLAS, cublasSetWorkspace: 32 MiB for
/// compute capability 9.0 and later.
constexpr std::size_t kMostWorkspaceBytes = std::size_t{32} << 20;

/// A descriptor of the library, destroyed with its owner.
template <typename Opaque, auto kDestroy>
struct Destroy {
  void operator()(Opaque* descriptor) const { (cublas_lt().*kDestroy)(descriptor); }
};
using Handle = std::unique_ptr<cublasLtContext, Destroy<cublasLtContext, &CublasLt::destroy>>;
using Matmul = std::unique_ptr<cublasLtMatmulDescOpaque_t,
                               Destroy<cublasLtMatmulDescOpaque_t, &CublasLt::matmul_desc_destroy>>;
using Layout =
    std::unique_ptr<cublasLtMatrixLayoutOpaque_t,
                    Destroy<cublasLtMatrixLayoutOpaque_t, &CublasLt::matrix_layout_destroy>>;
using Preference =
    std::unique_ptr<cublasLtMatmulPreferenceOpaque_t,
                    Destroy<cublasLtMatmulPreferenceOpaque_t, &CublasLt::preference_destroy>>;

/// One operand as the library sees it: [first, second], `first` contiguous.
struct Operand {
  const Tensor* tensor;
  cublasOperation_t operation = CUBLAS_OP_N;
};

cudaDataType_t type_of(ElementType element) {
  return element == ElementType::F32 ? CUDA_R_32F : CUDA_R_16BF;
}

Layout layout_of(const Tensor& tensor) {
  cublasLtMatrixLayout_t layout = nullptr;
  const std::int64_t contiguous = tensor.type.columns();
  cublas_lt_call(cublas_lt().matrix_layout_create(
                     &layout, type_of(tensor.type.element), static_cast<std::uint64_t>(contiguous),
                     static_cast<std::uint64_t>(tensor.type.rows()), contiguous),
                 "cublasLtMatrixLayoutCreate");
  return Layout(layout);
}

Matmul matmul_of(cublasOperation_t a, cublasOperation_t b) {
  cublasLtMatmulDesc_t matmul = nullptr;
  cublas_lt_call(cublas_lt().matmul_desc_create(&matmul, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
  Matmul owned(matmul);
  cublas_lt_call(
      cublas_lt().matmul_desc_set_attribute(matmul, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a),
      "cublasLtMatmulDescSetAttribute");
  cublas_lt_call(
      cublas_lt().matmul_desc_set_attribute(matmul, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b),
      "cublasLtMatmulDescSetAttribute");
  return owned;
}

/// The largest power of two that divides the address, at most 256: the library asks for no more.
std::uint32_t alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256U;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

class LibraryDense final : public ChosenKernel {
 public:
  /// Computes output = a b, in the library's order.
  LibraryDense(Queue& queue, const Operand& a, const Operand& b, const Tensor& output)
      : queue_(queue),
        matmul_(matmul_of(a.operation, b.operation)),
        a_layout_(layout_of(*a.tensor)),
        b_layout_(layout_of(*b.tensor)),
        output_layout_(layout_of(output)),
        a_(a.tensor->data),
        b_(b.tensor->data),
        output_(output.data) {
    cublasLtHandle_t handle = nullptr;
    cublas_lt_call(cublas_lt().create(&handle), "cublasLtCreate");
    handle_.reset(handle);
    choose();
    if (!has_algorithm()) return;
    queue_.reserve_workspace(workspace_bytes());
    run({});  // loads code that the library cannot load while a step is captured
    queue_.finish();
  }

  bool has_algorithm() const { return algorithms_ > 0; }

  void run(const StepContext&) override {
    constexpr float kOne = 1;
    constexpr float kZero = 0;
    cublas_lt_call(cublas_lt().matmul(handle_.get(), matmul_.get(), &kOne, a_, a_layout_.get(), b_,
                                      b_layout_.get(), &kZero, output_, output_layout_.get(),
                                      output_, output_layout_.get(), &found_.algo,
                                      queue_.workspace(), found_.workspaceSize, queue_.stream()),
                   "cublasLtMatmul");
  }

  std::string choice() const override {
    return "cuBLASLt " + version_of_cublas_lt().value_or("") + ": algorithm " +
           std::to_string(configured(CUBLASLT_ALGO_CONFIG_ID)) + ", tile " +
           std::to_string(configured(CUBLASLT_ALGO_CONFIG_TILE_ID)) + ", stages " +
           std::to_string(configured(CUBLASLT_ALGO_CONFIG_STAGES_ID)) + ", parts " +
           std::to_string(configured(CUBLASLT_ALGO_CONFIG_SPLITK_NUM)) + ", workspace " +
           std::to_string(workspace_bytes()) + " bytes";
  }

 private:
  std::int64_t workspace_bytes() const { return static_cast<std::int64_t>(found_.workspaceSize); }

  void choose() {
    cublasLtMatmulPreference_t preference = nullptr;
    cublas_lt_call(cublas_lt().preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const Preference owned(preference);
    prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspaceBytes);
    prefer(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(a_));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(b_));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(output_));
    prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(output_));
    const cublasStatus_t status = cublas_lt().algo_get_heuristic(
        handle_.get(), matmul_.get(), a_layout_.get(), b_layout_.get(), output_layout_.get(),
        output_layout_.get(), preference, 1, &found_, &algorithms_);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) {
      cublas_lt_call(status, "cublasLtMatmulAlgoGetHeuristic");
    }
  }

  template <typename T>
  static void prefer(cublasLtMatmulPreference_t preference,
                     cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
    cublas_lt_call(
        cublas_lt().preference_set_attribute(preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
  }

  int configured(cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    int value = 0;
    std::size_t written = 0;
    cublas_lt_call(cublas_lt().algo_config_get_attribute(&found_.algo, attribute, &value,
                                                         sizeof value, &written),
                   "cublasLtMatmulAlgoConfigGetAttribute");
    return value;
  }

  Queue& queue_;
  Handle handle_;
  Matmul matmul_;
  Layout a_layout_, b_layout_, output_layout_;
  const void* a_;
  const void* b_;
  void* output_;
  cublasLtMatmulHeuristicResult_t found_{};
  int algorithms_ = 0;
};

KernelPointer build(const KernelRequest& request, const Operand& a, const Operand& b) {
  const ElementType element = request.inputs[0].type.element;
  if (request.inputs[1].type.element != element) return nullptr;
  if (element != ElementType::F32 && element != ElementType::BF16) return nullptr;
  auto kernel = std::make_unique<LibraryDense>(queue_of(request), a, b, request.outputs[0]);
  if (!kernel->has_algorithm()) return nullptr;
  return kernel;
}

}  // namespace

KernelPointer dense_library(const KernelRequest& request) {
  const Tensor& x = request.inputs[0];
  const Tensor& w = request.inputs[1];
  return build(request, {&w, CUBLAS_OP_T}, {&x, CUBLAS_OP_N});
}

KernelPointer dense_library_backward_data(const KernelRequest& request) {
  const Tensor& dy = request.inputs[0];
  const Tensor& w = request.inputs[1];
  return build(request, {&w, CUBLAS_OP_N}, {&dy, CUBLAS_OP_N});
}

KernelPointer dense_library_backward_weights(const KernelRequest& request) {
  const Tensor& dy = request.inputs[0];
  const Tensor& x = request.inputs[1];
  return build(request, {&x, CUBLAS_OP_N}, {&dy, CUBLAS_OP_T});
}

}  // namespace regatta::cuda
