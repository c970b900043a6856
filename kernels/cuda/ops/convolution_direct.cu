// SPDX-License-Identifier: Apache-2.0
//
// A convolution whose windows hold few numbers, as that of an image's three channels by 2 x 2: each
// thread computes eight outputs of four pixels, filters are in shared memory. cuDNN's engines are
// made for more channels: on an H200 the fastest takes three times as long.
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

/// Numbers of a window: the terms of each sum.
template <typename T, int kTerms>
struct Direct {
  ConvolutionShape shape;
  std::int64_t pixels;  ///< of y
  const T* x;
  const T* w;
  T* y;

  static constexpr std::size_t kSharedBytes = kTerms * kMostOutputs * sizeof(float);

  __host__ __device__ int chunks() const { return shape.outputs / kOutputs; }
  /// Pixels that a block computes at a time; it does so kPixels times.
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

  /// `output`: the first of the thread's; `filters`: from there.
  __host__ __device__ void compute(const float* filters, std::int64_t first, int output) const {
    float sums[kPixels][kOutputs] = {};
    Pixel places[kPixels];
    for (int p = 0; p < kPixels; ++p) {
      const std::int64_t pixel = first + std::int64_t{p} * at_once();
      places[p] = output_at(shape, static_cast<int>(pixel));
      if (pixel >= pixels) places[p].image = -1;
    }
    for (int term = 0; term < kTerms; ++term) {
      float weights[kOutputs];
      load_pack(filters + term * shape.outputs, weights);
      for (int p = 0; p < kPixels; ++p) {
        const float value = value_at(places[p], term);
        for (int j = 0; j < kOutputs; ++j) sums[p][j] += value * weights[j];
      }
    }
    for (int p = 0; p < kPixels; ++p) {
      if (places[p].image < 0) continue;
      const std::int64_t pixel = first + std::int64_t{p} * at_once();
      store_pack(y + pixel * shape.outputs + output, sums[p]);
    }
  }

  __host__ __device__ float value_at(const Pixel& pixel, int term) const {
    if (pixel.image < 0) return 0;
    const std::int64_t from = pixel_of_x(shape, pixel, tap_at(shape, term / shape.inputs));
    return from < 0 ? 0 : load(x[from * shape.inputs + term % shape.inputs]);
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

template <typename T, int kTerms>
KernelPointer build(const KernelRequest& request, const ConvolutionShape& shape) {
  const Direct<T, kTerms> body{.shape = shape,
                               .pixels = shape.pixels_of_y(),
                               .x = request.inputs[0].as<T>(),
                               .w = request.inputs[1].as<T>(),
                               .y = request.outputs[0].as<T>()};
  return std::make_unique<DirectConvolution<Direct<T, kTerms>>>(queue_of(request), body);
}

}  // namespace

KernelPointer convolution_direct(const KernelRequest& request) {
  const ConvolutionShape shape = shape_of(ConvolutionPass::Forward, request);
  const bool fits = shape.groups == 1 && shape.outputs % kOutputs == 0 &&
                    shape.outputs <= kMostOutputs && shape.pixels_of_y() < (1 << 30) &&
                    are_aligned({request.outputs[0].data});
  if (!fits || shape.kernel * shape.kernel * shape.inputs != 12) return nullptr;
  return with_element(request.outputs[0].type.element,
                      [&]<typename T>(T) { return build<T, 12>(request, shape); });
}

}  // namespace regatta::cuda
