// SPDX-License-Identifier: Apache-2.0
//
// A convolution and its gradients where groups are narrow, depthwise above all: one thread a result
// for y and dx, neighbours in channels. For dw, a block has 32 outputs of one weight of the window
// and sums over pixels on 8 lines of threads; pixels are dealt to several blocks, whose sums are
// added in order: the same bits in every run.
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/convolution_paths.h"
#include "kernels/cuda/ops/convolution_windows.h"
#include "kernels/cuda/ops/element.h"

namespace regatta::cuda {
namespace {

/// Groups of more outputs fill a tile of product.h well enough.
constexpr int kWidestGroup = 8;

constexpr int kLine = 32;
constexpr int kLines = 8;
constexpr std::int64_t kEnoughBlocks = 512;
/// A block that sums fewer pixels costs more for its sums than it saves.
constexpr std::int64_t kLeastPixels = 256;

template <class T>
struct ForwardResult {
  ConvolutionShape shape;
  const T* x;
  const T* w;
  T* y;

  __host__ __device__ void operator()(std::int64_t i) const {
    const Pixel pixel = output_at(shape, static_cast<int>(i / shape.outputs));
    const int output = static_cast<int>(i % shape.outputs);
    const int first_input = output / shape.group_outputs * shape.group_inputs;
    const int taps = shape.kernel * shape.kernel;
    float sum = 0;
    for (int tap = 0; tap < taps; ++tap) {
      const std::int64_t from = pixel_of_x(shape, pixel, tap_at(shape, tap));
      if (from < 0) continue;
      const T* inputs = x + from * shape.inputs + first_input;
      const T* weights = w + (static_cast<std::int64_t>(output) * taps + tap) * shape.group_inputs;
      for (int c = 0; c < shape.group_inputs; ++c) sum += load(inputs[c]) * load(weights[c]);
    }
    store(y[i], sum);
  }
};

template <class T>
struct BackwardDataResult {
  ConvolutionShape shape;
  const T* dy;
  const T* w;
  T* dx;

  __host__ __device__ void operator()(std::int64_t i) const {
    const Pixel pixel = input_at(shape, static_cast<int>(i / shape.inputs));
    const int input = static_cast<int>(i % shape.inputs);
    const int first_output = input / shape.group_inputs * shape.group_outputs;
    const int taps = shape.kernel * shape.kernel;
    float sum = 0;
    for (int tap = 0; tap < taps; ++tap) {
      const std::int64_t from = pixel_of_y(shape, pixel, tap_at(shape, tap));
      if (from < 0) continue;
      for (int o = first_output; o < first_output + shape.group_outputs; ++o) {
        const std::int64_t weight =
            (static_cast<std::int64_t>(o) * taps + tap) * shape.group_inputs +
            input % shape.group_inputs;
        sum += load(dy[from * shape.outputs + o]) * load(w[weight]);
      }
    }
    store(dx[i], sum);
  }
};

/// Blocks: [parts, weights of the window, chunks of outputs].
template <class T>
struct BackwardWeightsSums {
  ConvolutionShape shape;
  const T* dy;
  const T* x;
  float* sums;  ///< [parts, elements of dw]
  int chunks;
  int pixels_of_part;

  __host__ __device__ void operator()(const Block& block) const {
    const int window = shape.kernel * shape.kernel * shape.group_inputs;
    const int chunk = static_cast<int>(block.index % chunks);
    const int weight = static_cast<int>(block.index / chunks % window);
    const std::int64_t part = block.index / chunks / window;
    auto* partial = reinterpret_cast<float*>(block.shared);
    block.each([&](int thread) {
      const int output = chunk * kLine + thread % kLine;
      partial[thread] = output < shape.outputs ? sum_of(part, weight, output, thread / kLine) : 0;
    });
    block.each([&](int thread) {
      const int output = chunk * kLine + thread;
      if (thread >= kLine || output >= shape.outputs) return;
      float sum = 0;
      for (int line = 0; line < kLines; ++line) sum += partial[line * kLine + thread];
      sums[(part * shape.outputs + output) * window + weight] = sum;
    });
  }

 private:
  __host__ __device__ float sum_of(std::int64_t part, int weight, int output, int line) const {
    const Tap tap = tap_at(shape, weight / shape.group_inputs);
    const int input =
        output / shape.group_outputs * shape.group_inputs + weight % shape.group_inputs;
    const int pixels = shape.batch * shape.rows * shape.columns;
    const int begin = static_cast<int>(part) * pixels_of_part;
    const int end = begin + pixels_of_part < pixels ? begin + pixels_of_part : pixels;
    float sum = 0;
    for (int pixel = begin + line; pixel < end; pixel += kLines) {
      const std::int64_t from = pixel_of_x(shape, output_at(shape, pixel), tap);
      if (from < 0) continue;
      sum += load(dy[static_cast<std::int64_t>(pixel) * shape.outputs + output]) *
             load(x[from * shape.inputs + input]);
    }
    return sum;
  }
};

struct SumOfParts {
  const float* sums;
  float* dw;
  std::int64_t elements;
  int parts;

  __host__ __device__ void operator()(std::int64_t i) const {
    float sum = 0;
    for (int part = 0; part < parts; ++part) sum += sums[part * elements + i];
    dw[i] = sum;
  }
};

/// For each result, on its own.
template <class Body>
class ResultsKernel final : public ChosenKernel {
 public:
  ResultsKernel(Queue& queue, const Body& body, std::int64_t results, std::string choice)
      : queue_(queue), body_(body), results_(results), choice_(std::move(choice)) {}
  void run(const StepContext&) override { for_each(queue_, results_, body_); }
  std::string choice() const override { return choice_; }

 private:
  Queue& queue_;
  Body body_;
  std::int64_t results_;
  std::string choice_;
};

template <class T>
class BackwardWeightsKernel final : public ChosenKernel {
 public:
  BackwardWeightsKernel(const KernelRequest& request, std::string choice)
      : queue_(queue_of(request)), choice_(std::move(choice)) {
    const ConvolutionPass pass = ConvolutionPass::BackwardWeights;
    const ConvolutionShape shape = shape_of(pass, request);
    const ConvolutionTensors at = tensors_of(pass, request);
    const int window = shape.kernel * shape.kernel * shape.group_inputs;
    const int chunks = (shape.outputs + kLine - 1) / kLine;
    const std::int64_t pixels = shape.pixels_of_y();
    const std::int64_t blocks = std::int64_t{chunks} * window;
    const std::int64_t most = (pixels + kLeastPixels - 1) / kLeastPixels;
    parts_ = static_cast<int>(std::clamp<std::int64_t>(kEnoughBlocks / blocks, 1, most));
    blocks_ = blocks * parts_;
    sum_ = {.sums = at.w.f32(), .dw = at.w.f32(), .elements = at.w.elements(), .parts = parts_};
    if (parts_ > 1) {
      partial_ = Scratch(queue_, parts_ * sum_.elements * static_cast<std::int64_t>(sizeof(float)));
      sum_.sums = partial_.as<float>();
    }
    body_ = {.shape = shape,
             .dy = at.y.as<T>(),
             .x = at.x.as<T>(),
             .sums = parts_ > 1 ? partial_.as<float>() : at.w.f32(),
             .chunks = chunks,
             .pixels_of_part = static_cast<int>((pixels + parts_ - 1) / parts_)};
  }

  void run(const StepContext&) override {
    for_each_block(queue_, blocks_, kLine * kLines, kLine * kLines * sizeof(float), body_);
    if (parts_ > 1) for_each(queue_, sum_.elements, sum_);
  }
  std::string choice() const override { return choice_; }

 private:
  Queue& queue_;
  std::string choice_;
  Scratch partial_;
  BackwardWeightsSums<T> body_{};
  SumOfParts sum_{};
  std::int64_t blocks_ = 0;
  int parts_ = 1;
};

template <class T>
KernelPointer build(ConvolutionPass pass, const KernelRequest& request, const std::string& choice) {
  const ConvolutionShape shape = shape_of(pass, request);
  const ConvolutionTensors at = tensors_of(pass, request);
  switch (pass) {
    case ConvolutionPass::Forward: {
      const ForwardResult<T> body{shape, at.x.as<T>(), at.w.as<T>(), at.y.as<T>()};
      return std::make_unique<ResultsKernel<ForwardResult<T>>>(queue_of(request), body,
                                                               at.y.elements(), choice);
    }
    case ConvolutionPass::BackwardData: {
      const BackwardDataResult<T> body{shape, at.y.as<T>(), at.w.as<T>(), at.x.as<T>()};
      return std::make_unique<ResultsKernel<BackwardDataResult<T>>>(queue_of(request), body,
                                                                    at.x.elements(), choice);
    }
    case ConvolutionPass::BackwardWeights:
      return std::make_unique<BackwardWeightsKernel<T>>(request, choice);
  }
  return nullptr;
}

}  // namespace

bool has_narrow_groups(const ConvolutionShape& shape) {
  return shape.groups > 1 && shape.group_outputs <= kWidestGroup &&
         shape.group_inputs <= kWidestGroup;
}

KernelPointer convolution_narrow(ConvolutionPass pass, const KernelRequest& request,
                                 const std::string& why) {
  const std::string choice = "own, a thread a result: " + why;
  return request.inputs[0].type.element == ElementType::F32 ? build<float>(pass, request, choice)
                                                            : build<Bf16>(pass, request, choice);
}

}  // namespace regatta::cuda
