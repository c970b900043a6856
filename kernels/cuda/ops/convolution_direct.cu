// SPDX-License-Identifier: Apache-2.0
//
// A convolution with windows of few numbers, such as 2 x 2 pixels of an image's three channels:
// each thread computes eight outputs of four pixels, and filters are in shared memory. cuDNN's
// engines are made for more channels.
#include <memory>
#include <string>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/ops/convolution_paths.h"
#include "kernels/cuda/ops/convolution_windows.h"
#include "kernels/cuda/ops/element.h"

namespace regatta::cuda {
namespace {

constexpr int kOutputs = 8;  ///< of a thread
constexpr int kPixels = 4;   ///< of a thread
constexpr int kMostOutputs = 64;
constexpr int kThreads = 256;

template <typename T, int kKernel, int kInputs>
struct Direct {
  ConvolutionShape shape;
  std::int64_t pixels;  ///< of y
  const T* x;
  const T* w;
  T* y;

  static constexpr int kTerms = kKernel * kKernel * kInputs;
  static constexpr std::size_t kSharedBytes = kTerms * kMostOutputs * sizeof(float);

  __host__ __device__ int chunks() const { return shape.outputs / kOutputs; }
  /// Pixels that a block computes at a time, kPixels times.
  __host__ __device__ int at_once() const { return kThreads / chunks(); }
  std::int64_t blocks() const {
    const std::int64_t of_block = std::int64_t{at_once()} * kPixels;
    return (pixels + of_block - 1) / of_block;
  }

  __host__ __device__ void operator()(const Block& block) const {
    float* const filters = reinterpret_cast<float*>(block.shared);  // [kTerms, outputs]
    block.each([&](int thread) {
      for (int i = thread; i < kTerms * shape.outputs; i += block.threads) {
        filters[i] = load(w[i % shape.outputs * kTerms + i / shape.outputs]);
      }
    });
    block.each([&](int thread) {
      if (thread >= at_once() * chunks()) return;
      const std::int64_t first = block.index * at_once() * kPixels + thread / chunks();
      compute(filters + thread % chunks() * kOutputs, first, thread % chunks() * kOutputs);
    });
  }

  /// `output`: the thread's first output; `filters` point to that output's column.
  __host__ __device__ void compute(const float* filters, std::int64_t first, int output) const {
    float sums[kPixels][kOutputs] = {};
    float values[kPixels][kTerms];
    for (int p = 0; p < kPixels; ++p) read_window(first + p * at_once(), values[p]);
    for (int term = 0; term < kTerms; ++term) {
      float weights[kOutputs];
      load_pack(filters + term * shape.outputs, weights);
      for (int p = 0; p < kPixels; ++p) {
        for (int j = 0; j < kOutputs; ++j) sums[p][j] += values[p][term] * weights[j];
      }
    }
    for (int p = 0; p < kPixels; ++p) {
      const std::int64_t pixel = first + p * at_once();
      if (pixel < pixels) store_pack(y + pixel * shape.outputs + output, sums[p]);
    }
  }

  /// Reads a window; zeros lie outside the image.
  __host__ __device__ void read_window(std::int64_t index, float (&values)[kTerms]) const {
    const Pixel pixel = output_at(shape, static_cast<int>(index));
    const int top = pixel.row * shape.stride - shape.padding;
    const int left = pixel.column * shape.stride - shape.padding;
    for (int r = 0; r < kKernel; ++r) {
      for (int s = 0; s < kKernel; ++s) {
        const int row = top + r, column = left + s;
        const bool is_inside =
            index < pixels && row >= 0 && row < shape.height && column >= 0 && column < shape.width;
        const std::int64_t from =
            ((std::int64_t{pixel.image} * shape.height + row) * shape.width + column) * kInputs;
        for (int c = 0; c < kInputs; ++c) {
          values[(r * kKernel + s) * kInputs + c] = is_inside ? load(x[from + c]) : 0.0F;
        }
      }
    }
  }
};

template <typename Body>
class DirectConvolution final : public ChosenKernel {
 public:
  DirectConvolution(Queue& queue, const Body& body) : queue_(queue), body_(body) {}
  void run(const StepContext&) override {
    for_each_block(queue_, body_.blocks(), kThreads, Body::kSharedBytes, body_);
  }
  std::string choice() const override { return "own, direct, as windows are small"; }

 private:
  Queue& queue_;
  Body body_;
};

template <typename T, int kKernel, int kInputs>
KernelPointer build(const KernelRequest& request, const ConvolutionShape& shape) {
  const Direct<T, kKernel, kInputs> body{.shape = shape,
                                         .pixels = shape.pixels_of_y(),
                                         .x = request.inputs[0].as<T>(),
                                         .w = request.inputs[1].as<T>(),
                                         .y = request.outputs[0].as<T>()};
  return std::make_unique<DirectConvolution<Direct<T, kKernel, kInputs>>>(queue_of(request), body);
}

}  // namespace

KernelPointer convolution_direct(const KernelRequest& request) {
  const ConvolutionShape shape = shape_of(ConvolutionPass::Forward, request);
  const bool fits = shape.groups == 1 && shape.outputs % kOutputs == 0 &&
                    shape.outputs <= kMostOutputs && shape.pixels_of_y() < (1 << 30) &&
                    are_aligned({request.outputs[0].data});
  if (!fits || shape.kernel != 2 || shape.inputs != 3) return nullptr;
  return with_element(request.outputs[0].type.element,
                      [&]<typename T>(T) { return build<T, 2, 3>(request, shape); });
}

}  // namespace regatta::cuda
