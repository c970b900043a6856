// SPDX-License-Identifier: Apache-2.0
//
// Batch normalisation over groups of examples; formulas are in kernels/graph/ops/normalize.cpp.
// Backward, with h = (x - mean) * inverse and sums over the m values of a group's channel:
//   dshift = sum dy, dscale = sum dy h, dx = scale * inverse * (dy - sum dy / m - h * sum(dy h) /
//   m).
// Source: Ioffe and Szegedy, arXiv:1502.03167, section 3.
#include <array>
#include <cmath>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

/// The values of one channel in one group: `count` values, `stride` apart.
struct Population {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t stride = 0;
};

Population population(const TensorType& x, std::int64_t group_size, std::int64_t group,
                      std::int64_t channel) {
  const std::int64_t count = group_size * x.dim(1) * x.dim(2);
  const std::int64_t channels = x.dim(3);
  return {.first = group * count * channels + channel, .count = count, .stride = channels};
}

struct Statistics {
  double mean = 0;
  double variance = 0;  ///< biased
};

Statistics statistics(const float* x, const Population& p) {
  Statistics result;
  for (std::int64_t i = 0; i < p.count; ++i) result.mean += x[p.first + i * p.stride];
  result.mean /= static_cast<double>(p.count);
  for (std::int64_t i = 0; i < p.count; ++i) {
    const double distance = x[p.first + i * p.stride] - result.mean;
    result.variance += distance * distance;
  }
  result.variance /= static_cast<double>(p.count);
  return result;
}

KernelPointer normalize(const KernelRequest& request) {
  const Tensor x = request.inputs[0], scale = request.inputs[1], shift = request.inputs[2];
  const Tensor y = request.outputs[0], mean = request.outputs[1], inverse = request.outputs[2];
  const std::vector<VariableStorage*> running(request.variables.begin(), request.variables.end());
  const std::int64_t group_size = request.node.attributes.integer("group");
  const double epsilon = request.node.attributes.real("epsilon");
  const double momentum = request.node.attributes.real("momentum");
  check(group_size * x.type.dim(1) * x.type.dim(2) > 1,
        "normalize: the variance of a single value is not defined");

  return make_kernel([=](const StepContext&) {
    const std::int64_t groups = mean.type.dim(0), channels = mean.type.dim(1);
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum_of_means = 0, sum_of_variances = 0;
      for (std::int64_t g = 0; g < groups; ++g) {
        const Population p = population(x.type, group_size, g, c);
        const Statistics s = statistics(x.f32(), p);
        const double inverse_deviation = 1 / std::sqrt(s.variance + epsilon);
        for (std::int64_t i = 0; i < p.count; ++i) {
          const std::int64_t at = p.first + i * p.stride;
          y.f32()[at] = static_cast<float>(
              scale.f32()[c] * (x.f32()[at] - s.mean) * inverse_deviation + shift.f32()[c]);
        }
        mean.f32()[g * channels + c] = static_cast<float>(s.mean);
        inverse.f32()[g * channels + c] = static_cast<float>(inverse_deviation);
        const auto m = static_cast<double>(p.count);
        sum_of_means += s.mean;
        sum_of_variances += s.variance * m / (m - 1);
      }
      const std::array sums = {sum_of_means, sum_of_variances};
      for (std::size_t i = 0; i < running.size(); ++i) {
        float& value = running[i]->tensor.f32()[c];
        value = static_cast<float>((1 - momentum) * value +
                                   momentum * sums[i] / static_cast<double>(groups));
      }
    }
    for (VariableStorage* each : running) {
      if (each->sharing != Sharing::None) ++each->counts->version;
    }
  });
}

KernelPointer normalize_inference(const KernelRequest& request) {
  const Tensor x = request.inputs[0], scale = request.inputs[1], shift = request.inputs[2];
  const Tensor mean = request.inputs[3], variance = request.inputs[4], y = request.outputs[0];
  const double epsilon = request.node.attributes.real("epsilon");
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t c = i % scale.elements();
      const double normalized =
          (double{x.f32()[i]} - mean.f32()[c]) / std::sqrt(variance.f32()[c] + epsilon);
      y.f32()[i] = static_cast<float>(scale.f32()[c] * normalized + shift.f32()[c]);
    }
  });
}

KernelPointer normalize_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], scale = request.inputs[2];
  const Tensor mean = request.inputs[3], inverse = request.inputs[4];
  const Tensor dx = request.outputs[0], dscale = request.outputs[1], dshift = request.outputs[2];
  const std::int64_t group_size = request.node.attributes.integer("group");
  return make_kernel([=](const StepContext&) {
    const std::int64_t groups = mean.type.dim(0), channels = mean.type.dim(1);
    for (std::int64_t c = 0; c < channels; ++c) {
      double all_dshift = 0, all_dscale = 0;
      for (std::int64_t g = 0; g < groups; ++g) {
        const Population p = population(x.type, group_size, g, c);
        const double mu = mean.f32()[g * channels + c];
        const double inverse_deviation = inverse.f32()[g * channels + c];
        const auto h = [&](std::int64_t at) { return (x.f32()[at] - mu) * inverse_deviation; };
        double sum_dy = 0, sum_dy_h = 0;
        for (std::int64_t i = 0; i < p.count; ++i) {
          const std::int64_t at = p.first + i * p.stride;
          sum_dy += dy.f32()[at];
          sum_dy_h += dy.f32()[at] * h(at);
        }
        const auto m = static_cast<double>(p.count);
        for (std::int64_t i = 0; i < p.count; ++i) {
          const std::int64_t at = p.first + i * p.stride;
          dx.f32()[at] = static_cast<float>(scale.f32()[c] * inverse_deviation *
                                            (dy.f32()[at] - sum_dy / m - h(at) * sum_dy_h / m));
        }
        all_dshift += sum_dy;
        all_dscale += sum_dy_h;
      }
      dscale.f32()[c] = static_cast<float>(all_dscale);
      dshift.f32()[c] = static_cast<float>(all_dshift);
    }
  });
}

}  // namespace

KernelRows normalize_kernels() {
  return {{Op::Normalize, normalize},
          {Op::NormalizeInference, normalize_inference},
          {Op::NormalizeBackward, normalize_backward}};
}

}  // namespace regatta::reference
