// SPDX-License-Identifier: Apache-2.0
//
// Backward data of a bf16 convolution with stride 1, computed as a forward convolution:
//   dx[b,p,q,i] = sum over r,s,o of dy[b, p+r-padding', q+s-padding', o] w'[i,r,s,o],
//   w'[i,r,s,o] = w[o, kernel-1-r, kernel-1-s, i],  padding' = kernel-1-padding.
// oneDNN's forward pass on AMX is up to twice as fast as its backward one (oneDNN 2.6.3). The
// weights, which are small, are flipped at the start of each run.
#include <algorithm>

#include "kernels/cpu/amx.h"
#include "kernels/cpu/buffer.h"
#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/transpose_avx512.h"

namespace regatta::cpu {
namespace {

using onednn::Descriptor;
using onednn::Format;

Descriptor image(const TensorType& t) {
  return onednn::describe({t.dim(0), t.dim(3), t.dim(1), t.dim(2)}, t.element, Format::nhwc);
}

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq")
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))), \
                             apply_to = function)

class FlippedConvolution final : public Kernel {
 public:
  explicit FlippedConvolution(const KernelRequest& request)
      : outputs_(request.inputs[1].type.dim(0)),
        kernel_(request.inputs[1].type.dim(1)),
        inputs_(request.inputs[1].type.dim(3)),
        parts_(parts_for(request.threads, request.inputs[1].elements())),
        weights_(request.inputs[1].as<std::uint16_t>()),
        turned_(
            make_buffer<std::uint16_t>(static_cast<std::size_t>(request.inputs[1].elements()))) {
    const Tensor& dy = request.inputs[0];
    const Tensor& dx = request.outputs[0];
    const auto weights = [&](Format format) {
      return onednn::describe({inputs_, outputs_, kernel_, kernel_}, ElementType::BF16, format);
    };
    const onednn::Choice choice = onednn::choose(
        onednn::Convolution{.pass = onednn::Pass::Forward,
                            .x = image(dy.type),
                            .weights = weights(Format::any),
                            .y = image(dx.type),
                            .padding = kernel_ - 1 - request.node.attributes.integer("padding")});
    const dnnl::memory w = program_.read_as(choice.weights, weights(Format::ohwi), turned_.get());
    program_.add(choice.primitive, choice.scratchpad,
                 {{DNNL_ARG_SRC, program_.bind(choice.x, dy.data)},
                  {DNNL_ARG_WEIGHTS, w},
                  {DNNL_ARG_DST, program_.bind(choice.y, dx.data)}});
  }

  void run(const StepContext& context) override {
    parallel_parts(parts_, [this](int part) { turn_weights(part); });
    program_.run(context);
  }

 private:
  static constexpr std::int64_t kSide = 32;

  /// Flips this part's blocks of 32 outputs. All taps of 32 x 32 channels are in few memory pages.
  void turn_weights(int part) {
    for (std::int64_t o = part * kSide; o < outputs_; o += parts_ * kSide) {
      for (std::int64_t i = 0; i < inputs_; i += kSide) {
        for (std::int64_t r = 0; r < kernel_; ++r) {
          for (std::int64_t s = 0; s < kernel_; ++s) turn_block(o, i, r, s);
        }
      }
    }
  }

  void turn_block(std::int64_t o, std::int64_t i, std::int64_t r, std::int64_t s) {
    const int rows = static_cast<int>(std::min(kSide, outputs_ - o));
    const std::int64_t columns = std::min(kSide, inputs_ - i);
    const std::int64_t from = ((o * kernel_ + r) * kernel_ + s) * inputs_ + i;
    const std::int64_t to =
        ((i * kernel_ + kernel_ - 1 - r) * kernel_ + kernel_ - 1 - s) * outputs_;
    transpose_words(weights_ + from, kernel_ * kernel_ * inputs_, rows, first_of_32(columns),
                    [&](int c, __m512i values) {
                      if (c >= columns) return;
                      std::uint16_t* row = turned_.get() + to + c * kernel_ * kernel_ * outputs_;
                      _mm512_mask_storeu_epi16(row + o, first_of_32(rows), values);
                    });
  }

  std::int64_t outputs_, kernel_, inputs_;
  int parts_;
  const std::uint16_t* weights_;
  Buffer<std::uint16_t> turned_;
  onednn::Program program_;
};

#pragma clang attribute pop
#pragma GCC pop_options

}  // namespace

bool can_flip(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  // 64 outputs -> 24 inputs was not faster (convolution_bench of 3690168c).
  const bool whole_tiles = request.outputs[0].type.dim(3) % kTileSide == 0;
  return request.inputs[0].type.element == ElementType::BF16 &&
         request.inputs[1].type.element == ElementType::BF16 && attributes.integer("stride") == 1 &&
         !attributes.has("groups") && whole_tiles &&
         attributes.integer("padding") < attributes.integer("kernel") && has_amx_bf16();
}

KernelPointer convolution_backward_data_flipped(const KernelRequest& request) {
  return std::make_unique<FlippedConvolution>(request);
}

}  // namespace regatta::cpu
