// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/stream_recorder.h"

#include <vector>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_call.h"
#include "kernels/runtime/device.h"

namespace regatta::cuda {
namespace {

class StreamStep final : public RecordedStep {
 public:
  /// Takes over `graph` and makes it executable.
  StreamStep(cudaGraph_t graph, cudaStream_t origin) : origin_(origin) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    cuda_call(status, "cudaGraphInstantiate");
  }
  ~StreamStep() override {
    if (!is_gpu_abandoned()) cudaGraphExecDestroy(executable_);
  }
  /// Uploads the graph, so that the first launch takes no longer than others.
  void upload() { cuda_call(cudaGraphUpload(executable_, origin_), "cudaGraphUpload"); }
  void launch() override { cuda_call(cudaGraphLaunch(executable_, origin_), "cudaGraphLaunch"); }

 private:
  cudaStream_t origin_;
  cudaGraphExec_t executable_ = nullptr;
};

class StreamRecorder final : public StepRecorder {
 public:
  explicit StreamRecorder(int device) : device_(device) {}
  ~StreamRecorder() override {
    cudaGraph_t graph = nullptr;
    if (is_capturing_) cudaStreamEndCapture(streams_.front(), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  void begin(std::span<LaneQueue* const> queues) override {
    for (LaneQueue* queue : queues) {
      const auto place = queue->stream_place();
      check(place.has_value(), "a captured queue is a GPU's stream");
      streams_.push_back(place->stream);
    }
    cuda_call(cudaSetDevice(device_), "cudaSetDevice");
    cuda_call(cudaStreamBeginCapture(streams_.front(), cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture");
    is_capturing_ = true;
    const Mark fork = mark(0);
    for (std::size_t queue = 1; queue < streams_.size(); ++queue) wait(queue, fork);
  }

  Mark mark(std::size_t queue) override {
    cudaEvent_t event = nullptr;
    cuda_call(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    events_.push_back(event);
    cuda_call(cudaEventRecord(event, streams_[queue]), "cudaEventRecord");
    return events_.size() - 1;
  }

  void wait(std::size_t queue, Mark mark) override {
    cuda_call(cudaStreamWaitEvent(streams_[queue], events_[mark], 0), "cudaStreamWaitEvent");
  }

  void look() override {
    cudaStreamCaptureStatus status{};
    cuda_call(cudaStreamIsCapturing(streams_.front(), &status), "cudaStreamIsCapturing");
    if (status == cudaStreamCaptureStatusActive) return;
    throw RunError(ErrorKind::Device,
                   "it did what is not allowed while a stream is captured into a CUDA graph, such "
                   "as waiting for the GPU or setting memory aside");
  }

  std::unique_ptr<RecordedStep> end() override {
    for (std::size_t queue = 1; queue < streams_.size(); ++queue) wait(0, mark(queue));
    cudaGraph_t graph = nullptr;
    is_capturing_ = false;
    cuda_call(cudaStreamEndCapture(streams_.front(), &graph), "cudaStreamEndCapture");
    auto step = std::make_unique<StreamStep>(graph, streams_.front());
    step->upload();
    return step;
  }

 private:
  int device_;
  std::vector<cudaStream_t> streams_;
  std::vector<cudaEvent_t> events_;
  bool is_capturing_ = false;
};

}  // namespace

std::unique_ptr<StepRecorder> make_stream_recorder(int device) {
  return std::make_unique<StreamRecorder>(device);
}

}  // namespace regatta::cuda
