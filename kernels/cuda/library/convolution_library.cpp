// SPDX-License-Identifier: Apache-2.0
//
// A convolution and its gradients by cuDNN. The engine is the first of the heuristics' proposals
// that runs or, if the run asks for it, the one that trials find fastest when the kernel is built
// (engine_choice.h). Equal convolutions in a process share an engine, so that its replicas round
// alike. In another process, or in the next run, another engine may be fastest, which rounds
// differently; EngineRule::Heuristic, for tests, gives the same bits again.
// Plans are made once for a handle and a shape, a handle serves one stream after the other, and all
// kernels of a stream share one workspace (Queue::workspace). A gradient of weights is computed
// there, too, and copied to its destination, for two reasons. The destination, inside its bucket,
// may be aligned to one element only. For bf16 the library has no engine with f32 results (9.19:
// its heuristics name none, for one operation or with a conversion behind it), so the result is
// rounded to bf16 once, after f32 sums.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_call.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/library/cudnn_graph.h"
#include "kernels/cuda/library/engine_choice.h"
#include "kernels/cuda/library/handle_cache.h"
#include "kernels/cuda/ops/convolution_paths.h"
#include "kernels/cuda/ops/noise.h"
#include "kernels/cuda/ops/widen.h"

namespace regatta::cuda {
namespace {

/// Most candidates that are tried for a kernel.
constexpr std::size_t kMostTried = 16;
/// Executions that are timed together.
constexpr int kExecutionsATrial = 4;

/// A plan of one engine, for all convolutions of one shape by one handle.
struct CachedPlan {
  std::vector<Descriptor> graph;  ///< the plan may point to it
  EngineConfiguration engine;
  EngineChoice choice;
  Descriptor plan;
  std::int64_t workspace_bytes = 0;
};

/// The library's handle, which holds memory of the GPU, and the plans made with it, which takes
/// long. Both outlive a stream: runs in one process follow each other.
struct Workshop {
  Workshop() { cudnn_call(cudnn().create(&handle), "cudnnCreate"); }
  Workshop(const Workshop&) = delete;
  Workshop& operator=(const Workshop&) = delete;

  cudnnHandle_t handle = nullptr;
  std::map<std::string, std::shared_ptr<const CachedPlan>> plans;  ///< null: no engine runs
};

/// Workshops without a stream. Never destroyed: the driver may end earlier.
HandleCache<Workshop>& idle_workshops() {
  static auto& all = *new HandleCache<Workshop>;
  return all;
}

/// The workshop that the convolutions of a stream share.
class OfStream {
 public:
  /// `key`: of the stream's first convolution.
  OfStream(const Queue& queue, const std::string& key)
      : gpu_(queue.stream_place().value().device),
        workshop_(idle_workshops().acquire(
            gpu_, [&](const Workshop& idle) { return idle.plans.contains(key); })) {
    if (workshop_ == nullptr) workshop_ = std::make_unique<Workshop>();
    cudnn_call(cudnn().set_stream(workshop_->handle, queue.stream()), "cudnnSetStream");
  }
  OfStream(const OfStream&) = delete;
  OfStream& operator=(const OfStream&) = delete;
  /// Detaches the handle from the stream. Runs before the stream is destroyed.
  ~OfStream() {
    const bool is_sound = !is_gpu_abandoned() && cudaSetDevice(gpu_) == cudaSuccess &&
                          cudnn().set_stream(workshop_->handle, nullptr) == CUDNN_STATUS_SUCCESS;
    if (is_sound) {
      idle_workshops().release(gpu_, std::move(workshop_));
    } else {
      workshop_.release();  // destroying it would wait for the GPU's work
    }
  }

  Workshop& workshop() { return *workshop_; }

 private:
  int gpu_;
  std::unique_ptr<Workshop> workshop_;
};

std::shared_ptr<OfStream> of_stream(const Queue& queue, const std::string& key) {
  static std::mutex mutex;
  static std::map<CUstream_st*, std::weak_ptr<OfStream>> all;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<OfStream>& known = all[queue.stream()];
  std::shared_ptr<OfStream> found = known.lock();
  if (found == nullptr) known = found = std::make_shared<OfStream>(queue, key);
  return found;
}

/// Tensors for trials only, filled with noise: with zeros a GPU's clock is higher, and another
/// engine may be fastest.
class TrialTensors {
 public:
  TrialTensors(Queue& queue, const ConvolutionTensors& like, ElementType element) {
    const Tensor* const tensors[] = {&like.x, &like.w, &like.y};
    for (std::size_t i = 0; i < std::size(tensors); ++i) {
      const TensorType type{element, tensors[i]->type.dims};
      memory_[i] = Scratch(queue, type.bytes());
      fill_with_noise(queue, {.type = type, .data = memory_[i].as<void>()});
    }
    queue.finish();
  }
  PlanMemory memory() const {
    return {.x = memory_[0].as<void>(),
            .w = memory_[1].as<void>(),
            .y = memory_[2].as<void>(),
            .workspace = nullptr};
  }

 private:
  Scratch memory_[3];
};

/// Trials of a convolution's engines.
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

  /// The plan of a candidate that has run. Called once, at the end.
  Descriptor take_plan(std::size_t candidate) { return std::move(plans_[candidate].value()); }

 private:
  bool has_plan(std::size_t candidate) {
    std::optional<Descriptor>& plan = plans_[candidate];
    if (!plan) plan = plan_of(engines_[candidate], {.handle = handle_});
    return plan && workspace_bytes_of(*plan) <= kMostWorkspaceBytes;
  }

  /// Whether the workspace fits. Heuristic throws instead: its choice ignores the free memory.
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

  /// The first execution is not timed: the others wait behind it in the queue, so that the time
  /// between the marks is the GPU's and not that of launches.
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

/// Name and size of a GPU. Queried once, because the driver takes a while.
const std::string& kind_of_gpu(int number) {
  static std::mutex mutex;
  static std::map<int, std::string> known;
  const std::scoped_lock lock(mutex);
  std::string& kind = known[number];
  if (kind.empty()) {
    cudaDeviceProp gpu{};
    cuda_call(cudaGetDeviceProperties(&gpu, number), "cudaGetDeviceProperties");
    kind = std::string(gpu.name) + ' ' + std::to_string(gpu.multiProcessorCount);
  }
  return kind;
}

/// Key of convolutions that have the same engines and times: pass, sizes, element and kind of GPU.
/// All tensors have the same alignment (kTensorAlignment).
std::string key_of(ConvolutionPass pass, const ConvolutionShape& shape, ElementType element,
                   const Queue& queue, EngineRule rule) {
  std::ostringstream key;
  key << static_cast<int>(rule) << ' ' << static_cast<int>(pass) << ' ' << to_string(element);
  for (const int size :
       {shape.batch, shape.height, shape.width, shape.inputs, shape.rows, shape.columns,
        shape.outputs, shape.kernel, shape.stride, shape.padding, shape.groups}) {
    key << ' ' << size;
  }
  key << ' ' << kind_of_gpu(queue.stream_place().value().device);
  return key.str();
}

/// A plan for the convolution; null if no engine runs.
std::shared_ptr<const CachedPlan> make_plan(ConvolutionPass pass, const ConvolutionTensors& at,
                                            ElementType element, const ConvolutionShape& shape,
                                            const std::string& key, Queue& queue,
                                            cudnnHandle_t handle, EngineRule rule) {
  static EngineChoices choices_of_process;
  const PlanTarget target{.handle = handle};
  std::vector<Descriptor> graph = convolution_graph(pass, shape, element, target);
  std::vector<EngineConfiguration> engines = engines_for(graph.back(), element, target, kMostTried);
  std::optional<Descriptor> plan;
  const std::optional<EngineChoice> choice = choices_of_process.find_or_choose(key, [&] {
    const TrialTensors tensors(queue, at, element);
    EngineTrials trials(queue, handle, engines, tensors.memory());
    const std::optional<EngineChoice> chosen = trials.choose(rule);
    if (chosen) plan = trials.take_plan(chosen->candidate);
    return chosen;
  });
  if (!choice) return nullptr;
  check(choice->candidate < engines.size(), "equal convolutions have the same engines");
  EngineConfiguration& engine = engines[choice->candidate];
  if (!plan) plan = plan_of(engine, target);  // the choice was made with another handle
  if (!plan) {
    throw RunError(ErrorKind::Device,
                   "cuDNN makes no plan of engine " + std::to_string(engine.engine) +
                       ", which computed an equal convolution before, for want of memory, say; "
                       "fix: use a smaller batch");
  }
  const std::int64_t workspace_bytes = workspace_bytes_of(*plan);
  return std::make_shared<CachedPlan>(CachedPlan{.graph = std::move(graph),
                                                 .engine = std::move(engine),
                                                 .choice = *choice,
                                                 .plan = std::move(*plan),
                                                 .workspace_bytes = workspace_bytes});
}

class LibraryConvolution final : public ChosenKernel {
 public:
  LibraryConvolution(ConvolutionPass pass, const KernelRequest& request, EngineRule rule)
      : queue_(queue_of(request)), output_(request.outputs[0]) {
    const ConvolutionTensors at = tensors_of(pass, request);
    memory_ = {.x = at.x.data, .w = at.w.data, .y = at.y.data, .workspace = nullptr};
    const ElementType element = request.inputs[0].type.element;
    const ConvolutionShape shape = shape_of(pass, request);
    const std::string key = key_of(pass, shape, element, queue_, rule);
    of_stream_ = of_stream(queue_, key);
    auto& [handle, plans] = of_stream_->workshop();
    auto known = plans.find(key);
    if (known == plans.end()) {
      known =
          plans.emplace(key, make_plan(pass, at, element, shape, key, queue_, handle, rule)).first;
    }
    handle_ = handle;
    plan_ = known->second;
    if (plan_ == nullptr) return;
    if (pass == ConvolutionPass::BackwardWeights) aside_.type = {element, output_.type.dims};
    queue_.reserve_workspace(aside_offset() + (has_aside() ? aside_.type.bytes() : 0));
    // Run once before a step is captured: a plan's first execution cannot be captured.
    execute();
    queue_.finish();
  }

  bool has_plan() const { return plan_ != nullptr; }

  void run(const StepContext&) override {
    execute();
    if (has_aside()) widen(queue_, aside_, output_.f32());
  }
  std::string choice() const override {
    std::ostringstream text;
    text << "cuDNN " << version_of_cudnn().value_or("") << ": engine " << plan_->engine.engine
         << ", configuration " << plan_->choice.candidate + 1 << " of the heuristics ("
         << plan_->choice.text() << "), workspace " << plan_->workspace_bytes << " bytes";
    if (has_aside()) text << ", result in " << to_string(aside_.type.element);
    return text.str();
  }

 private:
  bool has_aside() const { return !aside_.type.dims.empty(); }
  /// Offset in the workspace, behind the plan's part.
  std::int64_t aside_offset() const { return (plan_->workspace_bytes + 255) / 256 * 256; }

  void execute() {
    std::byte* const workspace = queue_.workspace();
    if (!pack_ || workspace != memory_.workspace) {  // another kernel may have needed a larger one
      memory_.workspace = workspace;
      if (has_aside()) aside_.data = memory_.w = workspace + aside_offset();
      pack_ = variant_pack(memory_);
    }
    cudnn_call(cudnn().execute(handle_, plan_->plan.get(), pack_->get()), "cudnnBackendExecute");
  }

  Queue& queue_;
  std::shared_ptr<OfStream> of_stream_;
  cudnnHandle_t handle_ = nullptr;
  std::shared_ptr<const CachedPlan> plan_;
  Tensor output_;
  Tensor aside_;  ///< result for a gradient of weights; no dimensions: none
  PlanMemory memory_{};
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
  return kernel->has_plan() ? KernelPointer(std::move(kernel)) : nullptr;
}

}  // namespace regatta::cuda
