// SPDX-License-Identifier: Apache-2.0
//
// A convolution and its gradients by cuDNN. The engine is the first of the heuristics' proposals
// that runs or, if the run asks for it, the one that trials find fastest when the kernel is built
// (engine_choice.h). Equal convolutions in a process share an engine, so that its replicas round
// alike. Another process, or the next run, may find another engine fastest, which rounds
// differently; EngineRule::Heuristic gives the same bits again.
// A gradient of weights is computed in separate memory and copied to its destination, for two
// reasons. The destination, inside its bucket, may be aligned to one element only. And for bf16 the
// library has no engine with f32 results (9.19: its heuristics name none, for one operation or with
// a conversion behind it), so the result is rounded to bf16 once, after f32 sums.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>

#include "kernels/cuda/device/cuda_call.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/library/cudnn_graph.h"
#include "kernels/cuda/library/engine_choice.h"
#include "kernels/cuda/ops/convolution_paths.h"
#include "kernels/cuda/ops/widen.h"
#include "kernels/graph/error.h"

namespace regatta::cuda {
namespace {

/// Tried for each kernel.
constexpr std::size_t kMostTried = 8;
/// That are timed together.
constexpr int kExecutionsATrial = 4;
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

/// Engines of one convolution, each tried on the memory where it will run.
class EngineTrials {
 public:
  EngineTrials(Queue& queue, cudnnHandle_t handle, const std::vector<EngineConfiguration>& engines,
               const PlanMemory& memory)
      : queue_(queue),
        handle_(handle),
        engines_(engines),
        memory_(memory),
        plans_(engines.size()),
        begin_(queue.make_mark()),
        end_(queue.make_mark()) {}

  std::optional<EngineChoice> choose(EngineRule rule) {
    return choose_engine(rule, engines_.size(), [&](std::size_t candidate) {
      return has_plan(candidate) && has_room(candidate, rule) ? run(candidate) : std::nullopt;
    });
  }

 private:
  bool has_plan(std::size_t candidate) {
    std::optional<Descriptor>& plan = plans_[candidate];
    if (!plan) plan = plan_of(engines_[candidate], {.handle = handle_});
    return plan && workspace_bytes_of(*plan) <= kMostWorkspaceBytes;
  }

  /// Which engine comes first does not depend on the memory that is left; which is fastest may.
  bool has_room(std::size_t candidate, EngineRule rule) {
    const std::int64_t bytes = workspace_bytes_of(*plans_[candidate]);
    if (bytes <= workspace_.bytes()) return true;
    workspace_ = Scratch();
    try {
      workspace_ = Scratch(queue_, bytes);
    } catch (const RunError&) {
      if (rule == EngineRule::Heuristic) throw;
      return false;
    }
    return true;
  }

  /// The first execution is not timed: behind it others wait in the queue, so that what lies
  /// between the marks is the GPU's time and not that of launches.
  std::optional<double> run(std::size_t candidate) {
    memory_.workspace = workspace_.as<void>();
    const Descriptor pack = variant_pack(memory_);
    if (!execute(candidate, pack)) return std::nullopt;
    begin_->put();
    for (int i = 0; i < kExecutionsATrial; ++i) {
      if (!execute(candidate, pack)) return std::nullopt;
    }
    end_->put();
    queue_.finish();
    return end_->ns_since(*begin_) / kExecutionsATrial;
  }

  bool execute(std::size_t candidate, const Descriptor& pack) {
    return cudnn().execute(handle_, plans_[candidate]->get(), pack.get()) == CUDNN_STATUS_SUCCESS;
  }

  Queue& queue_;
  cudnnHandle_t handle_;
  const std::vector<EngineConfiguration>& engines_;
  PlanMemory memory_;
  std::vector<std::optional<Descriptor>> plans_;
  Scratch workspace_;
  std::unique_ptr<QueueMark> begin_, end_;
};

/// What has the same engines and the same times: pass, sizes, element and kind of GPU. All tensors
/// are aligned alike (kTensorAlignment).
std::string key_of(ConvolutionPass pass, const ConvolutionShape& shape, ElementType element,
                   const Queue& queue, EngineRule rule) {
  const std::optional<StreamPlace> place = queue.stream_place();
  cudaDeviceProp gpu{};
  if (place) cuda_call(cudaGetDeviceProperties(&gpu, place->device), "cudaGetDeviceProperties");
  std::ostringstream key;
  key << static_cast<int>(rule) << ' ' << static_cast<int>(pass) << ' ' << to_string(element);
  for (const int size :
       {shape.batch, shape.height, shape.width, shape.inputs, shape.rows, shape.columns,
        shape.outputs, shape.kernel, shape.stride, shape.padding, shape.groups}) {
    key << ' ' << size;
  }
  key << ' ' << gpu.name << ' ' << gpu.multiProcessorCount;
  return key.str();
}

EngineChoices& choices_of_process() {
  static EngineChoices choices;
  return choices;
}

class LibraryConvolution final : public ChosenKernel {
 public:
  LibraryConvolution(ConvolutionPass pass, const KernelRequest& request, EngineRule rule)
      : queue_(queue_of(request)), handle_(handle_of(queue_)), output_(request.outputs[0]) {
    const ConvolutionTensors at = tensors_of(pass, request);
    memory_ = {.x = at.x.data, .w = at.w.data, .y = at.y.data, .workspace = nullptr};
    const ElementType element = request.inputs[0].type.element;
    if (pass == ConvolutionPass::BackwardWeights) {
      aside_.type = {element, output_.type.dims};
      aside_memory_ = Scratch(queue_, aside_.type.bytes());
      aside_.data = memory_.w = aside_memory_.as<void>();
    }
    const ConvolutionShape shape = shape_of(pass, request);
    const PlanTarget target{.handle = handle_.get()};
    graph_ = convolution_graph(pass, shape, element, target);
    engines_ = engines_for(graph_.back(), element, target, kMostTried);
    choice_ = choices_of_process().find_or_choose(key_of(pass, shape, element, queue_, rule), [&] {
      return EngineTrials(queue_, handle_.get(), engines_, memory_).choose(rule);
    });
    if (choice_) make_plan(target);
  }

  bool has_plan() const { return plan_.has_value(); }

  void run(const StepContext&) override {
    execute();
    if (aside_.data != nullptr) widen(queue_, aside_, output_.f32());
  }
  std::string choice() const override {
    std::ostringstream text;
    text << "cuDNN " << version_of_cudnn().value_or("") << ": engine "
         << engines_[choice_->candidate].engine << ", configuration " << choice_->candidate + 1
         << " of the heuristics (" << choice_->text() << "), workspace " << workspace_.bytes()
         << " bytes";
    if (aside_.data != nullptr) text << ", result in " << to_string(aside_.type.element);
    return text.str();
  }

 private:
  void make_plan(const PlanTarget& target) {
    check(choice_->candidate < engines_.size(), "equal convolutions have the same engines");
    plan_ = plan_of(engines_[choice_->candidate], target);
    if (!plan_) {
      throw RunError(ErrorKind::Device,
                     "cuDNN makes no plan of engine " +
                         std::to_string(engines_[choice_->candidate].engine) +
                         ", which computed an equal convolution before, for want of memory, say; "
                         "use a smaller batch, or --cudnn-engine heuristic");
    }
    workspace_ = Scratch(queue_, workspace_bytes_of(*plan_));
    memory_.workspace = workspace_.as<void>();
    pack_ = variant_pack(memory_);
    // Before a step is captured: what the library does at a plan's first execution cannot be.
    execute();
    queue_.finish();
  }

  void execute() {
    cudnn_call(cudnn().execute(handle_.get(), plan_->get(), pack_->get()), "cudnnBackendExecute");
  }

  Queue& queue_;
  SharedHandle handle_;
  Tensor output_;
  Tensor aside_;
  Scratch aside_memory_;
  PlanMemory memory_{};
  std::vector<Descriptor> graph_;
  std::vector<EngineConfiguration> engines_;
  std::optional<EngineChoice> choice_;
  Scratch workspace_;
  std::optional<Descriptor> plan_;
  std::optional<Descriptor> pack_;
};

}  // namespace

bool is_aligned_for_library(ConvolutionPass pass, const KernelRequest& request) {
  const auto is_aligned = [](const Tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.data) % kTensorAlignment == 0;
  };
  return std::all_of(request.inputs.begin(), request.inputs.end(), is_aligned) &&
         (pass == ConvolutionPass::BackwardWeights || is_aligned(request.outputs[0]));
}

KernelPointer convolution_library(ConvolutionPass pass, const KernelRequest& request,
                                  EngineRule engines) {
  auto kernel = std::make_unique<LibraryConvolution>(pass, request, engines);
  if (!kernel->has_plan()) return nullptr;
  return kernel;
}

}  // namespace regatta::cuda
