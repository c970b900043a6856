// SPDX-License-Identifier: Apache-2.0
//
// A convolution and its gradients by cuDNN: the first engine that the library's heuristics name and
// that runs. A faster one might be found by timing some; but then runs, replicas and processes
// would take different ones, which round differently, and nothing would be equal bit for bit. A
// gradient of weights is computed aside and copied where it belongs: there it may be aligned to one
// element only, inside its bucket; and of bf16 the library has no engine with f32 results (9.19:
// its heuristics name none, for one operation or with a conversion behind it), so that it is
// rounded to bf16 once, after f32 sums.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>

#include "kernels/cuda/convolution_paths.h"
#include "kernels/cuda/cuda_call.h"
#include "kernels/cuda/cudnn_graph.h"
#include "kernels/cuda/queue.h"
#include "kernels/cuda/scratch.h"
#include "kernels/cuda/widen.h"

namespace regatta::cuda {
namespace {

/// Tried for each kernel.
constexpr std::size_t kMostTried = 8;
/// Engines that want more are left out: a race is run in the memory that models leave.
constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{512} << 20;

using SharedHandle = std::shared_ptr<cudnnContext>;

/// One handle a stream: it holds memory of the GPU, and a model has dozens of kernels.
SharedHandle handle_of(const Queue& queue) {
  static std::mutex mutex;
  static std::map<CUstream_st*, std::weak_ptr<cudnnContext>> handles;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<cudnnContext>& known = handles[queue.stream()];
  SharedHandle handle = known.lock();
  if (handle != nullptr) return handle;
  cudnnHandle_t created = nullptr;
  cudnn_call(cudnn().create(&created), "cudnnCreate");
  handle = SharedHandle(created, [](cudnnHandle_t gone) { cudnn().destroy(gone); });
  cudnn_call(cudnn().set_stream(created, queue.stream()), "cudnnSetStream");
  known = handle;
  return handle;
}

class LibraryConvolution final : public ChosenKernel {
 public:
  LibraryConvolution(ConvolutionPass pass, const KernelRequest& request)
      : queue_(queue_of(request)), handle_(handle_of(queue_)), output_(request.outputs[0]) {
    const ConvolutionTensors at = tensors_of(pass, request);
    memory_ = {.x = at.x.data, .w = at.w.data, .y = at.y.data, .workspace = nullptr};
    const ElementType element = request.inputs[0].type.element;
    if (pass == ConvolutionPass::BackwardWeights) {
      aside_.type = {element, output_.type.dims};
      aside_memory_ = Scratch(queue_, aside_.type.bytes());
      aside_.data = memory_.w = aside_memory_.as<void>();
    }
    graph_ = convolution_graph(pass, shape_of(pass, request), element, target());
    choose(element);
  }

  bool has_plan() const { return plan_.has_value(); }

  void run(const StepContext&) override {
    cudnn_call(cudnn().execute(handle_.get(), plan_->get(), pack_->get()), "cudnnBackendExecute");
    if (aside_.data != nullptr) widen(queue_, aside_, output_.f32());
  }
  std::string choice() const override { return choice_; }

 private:
  PlanTarget target() const { return {.handle = handle_.get()}; }

  void choose(ElementType element) {
    engines_ = engines_for(graph_.back(), element, target(), kMostTried);
    for (std::size_t place = 0; place < engines_.size() && !plan_; ++place) {
      std::optional<Descriptor> plan = plan_of(engines_[place], target());
      if (plan && workspace_bytes_of(*plan) <= kMostWorkspaceBytes) try_plan(*plan, place);
    }
  }

  /// Keeps the plan where it runs, on the memory where it will run.
  void try_plan(Descriptor& plan, std::size_t place) {
    workspace_ = Scratch(queue_, workspace_bytes_of(plan));
    memory_.workspace = workspace_.as<void>();
    pack_ = variant_pack(memory_);
    if (cudnn().execute(handle_.get(), plan.get(), pack_->get()) != CUDNN_STATUS_SUCCESS) return;
    queue_.finish();
    std::ostringstream text;
    text << "cuDNN " << version_of_cudnn().value_or("") << ": engine " << engines_[place].engine
         << ", configuration " << place + 1 << " of the heuristics, workspace "
         << workspace_.bytes() << " bytes";
    if (aside_.data != nullptr) text << ", result in " << to_string(aside_.type.element);
    choice_ = text.str();
    plan_ = std::move(plan);
  }

  Queue& queue_;
  SharedHandle handle_;
  Tensor output_;
  Tensor aside_;
  Scratch aside_memory_;
  PlanMemory memory_{};
  std::vector<Descriptor> graph_;
  std::vector<EngineConfiguration> engines_;
  Scratch workspace_;
  std::optional<Descriptor> plan_;
  std::optional<Descriptor> pack_;
  std::string choice_;
};

}  // namespace

bool is_aligned_for_library(ConvolutionPass pass, const KernelRequest& request) {
  const auto is_aligned = [](const Tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data) % kTensorAlignment == 0;
  };
  return std::all_of(request.inputs.begin(), request.inputs.end(), is_aligned) &&
         (pass == ConvolutionPass::BackwardWeights || is_aligned(request.outputs[0]));
}

KernelPointer convolution_library(ConvolutionPass pass, const KernelRequest& request) {
  auto kernel = std::make_unique<LibraryConvolution>(pass, request);
  if (!kernel->has_plan()) return nullptr;
  return kernel;
}

}  // namespace regatta::cuda
