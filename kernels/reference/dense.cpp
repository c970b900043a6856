// SPDX-License-Identifier: Apache-2.0
//
// dense: y = x wᵀ, dx = dy w, dw = dyᵀ x. Shapes: x [..., I], w [O, I], y [..., O].
// bias: y = x + b, db = sum of dy over rows. Shapes: x [..., C], b [C]. positions: a bias whose
// channels are all elements of a sequence. Shapes: x [B, S, C], b [S, C].
#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

KernelPointer dense(const KernelRequest& request) {
  const Tensor x = request.inputs[0], w = request.inputs[1], y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    const std::int64_t batch = y.type.rows(), outputs = y.type.columns(), inputs = x.type.columns();
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t o = 0; o < outputs; ++o) {
        double total = 0;
        for (std::int64_t i = 0; i < inputs; ++i) {
          total += double{x.f32()[b * inputs + i]} * w.f32()[o * inputs + i];
        }
        y.f32()[b * outputs + o] = static_cast<float>(total);
      }
    }
  });
}

KernelPointer dense_backward_data(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], w = request.inputs[1], dx = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    const std::int64_t batch = dy.type.rows(), outputs = dy.type.columns(),
                       inputs = w.type.columns();
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        double total = 0;
        for (std::int64_t o = 0; o < outputs; ++o) {
          total += double{dy.f32()[b * outputs + o]} * w.f32()[o * inputs + i];
        }
        dx.f32()[b * inputs + i] = static_cast<float>(total);
      }
    }
  });
}

KernelPointer dense_backward_weights(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], dw = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    const std::int64_t batch = dy.type.rows(), outputs = dy.type.columns(),
                       inputs = x.type.columns();
    for (std::int64_t o = 0; o < outputs; ++o) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        double total = 0;
        for (std::int64_t b = 0; b < batch; ++b) {
          total += double{dy.f32()[b * outputs + o]} * x.f32()[b * inputs + i];
        }
        dw.f32()[o * inputs + i] = static_cast<float>(total);
      }
    }
  });
}

KernelPointer bias(const KernelRequest& request) {
  const Tensor x = request.inputs[0], b = request.inputs[1], y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      y.f32()[i] = x.f32()[i] + b.f32()[i % b.elements()];
    }
  });
}

KernelPointer bias_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], db = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    const std::int64_t channels = db.elements();
    for (std::int64_t c = 0; c < channels; ++c) {
      double total = 0;
      for (std::int64_t i = c; i < dy.elements(); i += channels) total += dy.f32()[i];
      db.f32()[c] = static_cast<float>(total);
    }
  });
}

}  // namespace

KernelRows dense_kernels() {
  return {{Op::Dense, dense},
          {Op::DenseBackwardData, dense_backward_data},
          {Op::DenseBackwardWeights, dense_backward_weights},
          {Op::Bias, bias},
          {Op::BiasBackward, bias_backward},
          {Op::Positions, bias},
          {Op::PositionsBackward, bias_backward}};
}

}  // namespace regatta::reference
