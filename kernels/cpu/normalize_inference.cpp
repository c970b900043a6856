// SPDX-License-Identifier: Apache-2.0
//
// normalize_inference and fused_normalize_inference: one pass with given statistics.
#include <cmath>
#include <vector>

#include "kernels/cpu/element.h"
#include "kernels/cpu/line.h"
#include "kernels/cpu/parallel.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

using Pool = Fusion::Pool;

template <typename T, typename Function>
class NormalizeInference {
 public:
  NormalizeInference(const KernelRequest& request, const Fusion& fusion)
      : pool_(fusion.pool),
        windows_(request.inputs[0].type, fusion.window),
        x_(request.inputs[0].as<T>()),
        residual_(request.inputs.size() > 5 ? request.inputs[5].as<T>() : nullptr),
        y_(request.outputs[0].as<T>()),
        channels_(request.inputs.begin() + 1, request.inputs.begin() + 5),
        epsilon_(request.node.attributes.real("epsilon")),
        batch_(request.inputs[0].type.dim(0)),
        line_(WideRow::of_registers(windows_.channels)),
        parts_(parts_for(request.threads, request.inputs[0].elements())) {}

  void operator()(const StepContext&) {
    for (std::int64_t c = 0; c < windows_.channels; ++c) {
      const double deviation = std::sqrt(static_cast<double>(channels_[3].f32()[c]) + epsilon_);
      line_.set(c, channels_[2].f32()[c],
                static_cast<float>(static_cast<double>(channels_[0].f32()[c]) / deviation),
                channels_[1].f32()[c]);
    }
    line_.repeat();
    parallel_parts(parts_, [&](int part) { apply(part); });
  }

 private:
  void apply(int part) const {
    if (pool_ == Pool::None) {
      const Range rows = share(batch_ * windows_.height * windows_.width, parts_, part);
      line_.apply<Function>(x_, residual_, y_,
                            {rows.begin * windows_.channels, rows.end * windows_.channels});
      return;
    }
    const Range examples = share(batch_, parts_, part);
    for (std::int64_t b = examples.begin; b < examples.end; ++b) {
      const T* x = x_ + b * windows_.image();
      T* y = y_ + b * windows_.pooled_image();
      if (pool_ == Pool::After) {
        line_.apply_and_pool<Function, T>(windows_, x, y, nullptr, nullptr);
      } else {
        // y holds the picked values until it is overwritten, one image at a time.
        const Range image{b * windows_.pooled_image(), (b + 1) * windows_.pooled_image()};
        pool_image<T>(windows_, x, y, nullptr);
        line_.apply<Function, T>(y_, residual_, y_, image);
      }
    }
  }

  Pool pool_;
  Windows windows_;
  const T* x_;
  const T* residual_;
  T* y_;
  std::vector<Tensor> channels_;  ///< scale, shift, mean, variance
  double epsilon_;
  std::int64_t batch_;
  Line line_;
  int parts_;
};

KernelPointer normalize_inference(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return with_activation(fusion.activation, [&]<typename Function>(Function) {
      return make_kernel(NormalizeInference<T, Function>(request, fusion));
    });
  });
}

}  // namespace

KernelRows normalize_inference_kernels() {
  return {{Op::NormalizeInference, normalize_inference},
          {Op::FusedNormalizeInference, normalize_inference}};
}

}  // namespace regatta::cpu
