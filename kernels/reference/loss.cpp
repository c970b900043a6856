// SPDX-License-Identifier: Apache-2.0
//
// softmax_cross_entropy with smoothing e over K classes: loss = -sum_k t_k log p_k / divisor, with
// t_k = (1 - e) [k = label] + e / K; dlogits = (p - t) / divisor.
// softmax_part and cross_entropy_of_parts: formulas in graph/ops/loss.cpp.
// mean_squared_error: loss = sum over examples of the mean over outputs of (p - t)², / divisor.
#include <algorithm>
#include <cmath>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

/// The target distribution of a label.
struct Target {
  double smoothing = 0;
  std::int64_t classes = 0;
  double at(std::int64_t k, std::int32_t label) const {
    return (1 - smoothing) * (k == label ? 1 : 0) + smoothing / static_cast<double>(classes);
  }
};

KernelPointer softmax_cross_entropy(const KernelRequest& request) {
  const Tensor logits = request.inputs[0], labels = request.inputs[1];
  const Tensor loss = request.outputs[0], probabilities = request.outputs[1];
  const Target target{.smoothing = request.node.attributes.real("label_smoothing"),
                      .classes = logits.type.columns()};
  const auto divisor = static_cast<double>(request.node.attributes.integer("divisor"));
  return make_kernel([=](const StepContext&) {
    double total = 0;
    for (std::int64_t b = 0; b < logits.type.rows(); ++b) {
      const float* row = logits.f32() + b * target.classes;
      const double largest = *std::max_element(row, row + target.classes);
      double sum = 0;
      for (std::int64_t k = 0; k < target.classes; ++k) sum += std::exp(row[k] - largest);
      const double log_sum = largest + std::log(sum);
      for (std::int64_t k = 0; k < target.classes; ++k) {
        const double log_p = row[k] - log_sum;
        total -= target.at(k, labels.as<std::int32_t>()[b]) * log_p;
        probabilities.f32()[b * target.classes + k] = static_cast<float>(std::exp(log_p));
      }
    }
    *loss.f32() = static_cast<float>(total / divisor);
  });
}

KernelPointer softmax_cross_entropy_backward(const KernelRequest& request) {
  const Tensor probabilities = request.inputs[0], labels = request.inputs[1];
  const Tensor dlogits = request.outputs[0];
  const Target target{.smoothing = request.node.attributes.real("label_smoothing"),
                      .classes = dlogits.type.columns()};
  const auto divisor = static_cast<double>(request.node.attributes.integer("divisor"));
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < dlogits.elements(); ++i) {
      const std::int32_t label = labels.as<std::int32_t>()[i / target.classes];
      const double t = target.at(i % target.classes, label);
      dlogits.f32()[i] = static_cast<float>((probabilities.f32()[i] - t) / divisor);
    }
  });
}

KernelPointer softmax_part(const KernelRequest& request) {
  const Tensor logits = request.inputs[0], labels = request.inputs[1], part = request.outputs[0];
  const std::int64_t offset = request.node.attributes.integer("offset");
  return make_kernel([=](const StepContext&) {
    const std::int64_t classes = logits.type.columns(), count = labels.elements();
    for (std::int64_t t = 0; t < count; ++t) {
      const float* row = logits.f32() + t * classes;
      const float largest = *std::max_element(row, row + classes);
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(double{row[k]} - largest);
      const std::int64_t own = labels.as<std::int32_t>()[t] - offset;
      part.f32()[t] = largest;
      part.f32()[count + t] = static_cast<float>(sum);
      part.f32()[2 * count + t] = own >= 0 && own < classes ? row[own] : 0;
    }
  });
}

KernelPointer cross_entropy_of_parts(const KernelRequest& request) {
  const Tensor all = request.inputs[0], loss = request.outputs[0], log_sums = request.outputs[1];
  const std::int64_t parts = request.node.attributes.integer("parts");
  const auto divisor = static_cast<double>(request.node.attributes.integer("divisor"));
  return make_kernel([=](const StepContext&) {
    const std::int64_t count = log_sums.elements();
    double total = 0;
    for (std::int64_t t = 0; t < count; ++t) {
      double largest = all.f32()[t], sum = 0, at_label = 0;
      for (std::int64_t p = 1; p < parts; ++p) {
        largest = std::max(largest, double{all.f32()[p * 3 * count + t]});
      }
      for (std::int64_t p = 0; p < parts; ++p) {
        const float* part = all.f32() + p * 3 * count + t;
        sum += part[count] * std::exp(part[0] - largest);
        at_label += part[2 * count];
      }
      const double log_sum = largest + std::log(sum);
      log_sums.f32()[t] = static_cast<float>(log_sum);
      total += log_sum - at_label;
    }
    *loss.f32() = static_cast<float>(total / divisor);
  });
}

KernelPointer softmax_part_backward(const KernelRequest& request) {
  const Tensor logits = request.inputs[0], labels = request.inputs[1];
  const Tensor log_sums = request.inputs[2], dlogits = request.outputs[0];
  const std::int64_t offset = request.node.attributes.integer("offset");
  const auto divisor = static_cast<double>(request.node.attributes.integer("divisor"));
  return make_kernel([=](const StepContext&) {
    const std::int64_t classes = logits.type.columns();
    for (std::int64_t i = 0; i < logits.elements(); ++i) {
      const std::int64_t t = i / classes;
      const bool is_label = i % classes + offset == labels.as<std::int32_t>()[t];
      const double p = std::exp(double{logits.f32()[i]} - log_sums.f32()[t]);
      dlogits.f32()[i] = static_cast<float>((p - (is_label ? 1 : 0)) / divisor);
    }
  });
}

KernelPointer mean_squared_error(const KernelRequest& request) {
  const Tensor prediction = request.inputs[0], target = request.inputs[1];
  const Tensor loss = request.outputs[0];
  const auto divisor = static_cast<double>(request.node.attributes.integer("divisor"));
  return make_kernel([=](const StepContext&) {
    double total = 0;
    for (std::int64_t i = 0; i < prediction.elements(); ++i) {
      const double error = double{prediction.f32()[i]} - target.f32()[i];
      total += error * error;
    }
    *loss.f32() =
        static_cast<float>(total / (static_cast<double>(prediction.type.columns()) * divisor));
  });
}

KernelPointer mean_squared_error_backward(const KernelRequest& request) {
  const Tensor prediction = request.inputs[0], target = request.inputs[1];
  const Tensor dprediction = request.outputs[0];
  const auto divisor = static_cast<double>(request.node.attributes.integer("divisor"));
  return make_kernel([=](const StepContext&) {
    const double factor = 2 / (static_cast<double>(prediction.type.columns()) * divisor);
    for (std::int64_t i = 0; i < prediction.elements(); ++i) {
      const double error = double{prediction.f32()[i]} - target.f32()[i];
      dprediction.f32()[i] = static_cast<float>(factor * error);
    }
  });
}

KernelPointer count_correct(const KernelRequest& request) {
  const Tensor logits = request.inputs[0], labels = request.inputs[1];
  const Tensor count = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    const std::int64_t classes = logits.type.columns();
    float correct = 0;
    for (std::int64_t b = 0; b < logits.type.rows(); ++b) {
      const float* row = logits.f32() + b * classes;
      const std::int32_t label = labels.as<std::int32_t>()[b];
      // The first of equal logits is the prediction. A NaN is never larger: then the score is 0.
      bool wins = true;
      for (std::int64_t k = 0; k < classes; ++k) {
        if (k < label) wins = wins && row[label] > row[k];
        if (k > label) wins = wins && row[label] >= row[k];
      }
      if (wins) correct += 1;
    }
    *count.f32() = correct;
  });
}

}  // namespace

KernelRows loss_kernels() {
  return {{Op::SoftmaxCrossEntropy, softmax_cross_entropy},
          {Op::SoftmaxCrossEntropyBackward, softmax_cross_entropy_backward},
          {Op::SoftmaxPart, softmax_part},
          {Op::CrossEntropyOfParts, cross_entropy_of_parts},
          {Op::SoftmaxPartBackward, softmax_part_backward},
          {Op::MeanSquaredError, mean_squared_error},
          {Op::MeanSquaredErrorBackward, mean_squared_error_backward},
          {Op::CountCorrect, count_correct}};
}

}  // namespace regatta::reference
