// SPDX-License-Identifier: Apache-2.0
//
// softmax_cross_entropy with smoothing e over K classes: loss = -sum_k t_k log p_k / divisor, with
// t_k = (1 - e) [k = label] + e / K; dlogits = (p - t) / divisor.
// mean_squared_error: loss = sum over examples of the mean over outputs of (p - t)², / divisor.
// Losses are small: one thread adds them in double, in the order of the examples.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/element.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

/// The number of sums of squares kept side by side, so that the loop vectorises in a fixed order.
constexpr std::int64_t kLanes = 16;

template <typename T>
class SoftmaxCrossEntropy {
 public:
  explicit SoftmaxCrossEntropy(const KernelRequest& request)
      : logits_(request.inputs[0].as<T>()),
        labels_(request.inputs[1].as<std::int32_t>()),
        loss_(request.outputs[0].f32()),
        probabilities_(request.outputs[1].f32()),
        batch_(request.inputs[0].type.rows()),
        classes_(request.inputs[0].type.columns()),
        smoothing_(request.node.attributes.real("label_smoothing")),
        divisor_(static_cast<double>(request.node.attributes.integer("divisor"))) {}

  void operator()(const StepContext&) const {
    double total = 0;
    for (std::int64_t b = 0; b < batch_; ++b) total += loss_of(b);
    *loss_ = static_cast<float>(total / divisor_);
  }

 private:
  /// Returns the loss of example b and writes its probabilities.
  double loss_of(std::int64_t b) const {
    const T* row = logits_ + b * classes_;
    float* p = probabilities_ + b * classes_;
    float largest = load(row[0]);
    for (std::int64_t k = 1; k < classes_; ++k) largest = std::max(largest, load(row[k]));
    double sum = 0, sum_of_logits = 0;
    for (std::int64_t k = 0; k < classes_; ++k) {
      const float shifted = load(row[k]) - largest;
      p[k] = std::exp(shifted);
      sum += static_cast<double>(p[k]);
      sum_of_logits += static_cast<double>(shifted);
    }
    const auto factor = static_cast<float>(1 / sum);
    for (std::int64_t k = 0; k < classes_; ++k) p[k] *= factor;
    const auto at_label = static_cast<double>(load(row[labels_[b]]) - largest);
    return std::log(sum) - (1 - smoothing_) * at_label -
           smoothing_ / static_cast<double>(classes_) * sum_of_logits;
  }

  const T* logits_;
  const std::int32_t* labels_;
  float* loss_;
  float* probabilities_;
  std::int64_t batch_;
  std::int64_t classes_;
  double smoothing_;
  double divisor_;
};

template <typename T>
KernelPointer build_softmax_cross_entropy_backward(const KernelRequest& request) {
  const Tensor p = request.inputs[0], labels = request.inputs[1], dlogits = request.outputs[0];
  const std::int64_t batch = p.type.rows(), classes = p.type.columns();
  const double smoothing = request.node.attributes.real("label_smoothing");
  const auto factor =
      static_cast<float>(1 / static_cast<double>(request.node.attributes.integer("divisor")));
  const auto others = static_cast<float>(smoothing / static_cast<double>(classes));
  const auto at_label = static_cast<float>(1 - smoothing);
  return make_kernel([=](const StepContext&) {
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int32_t label = labels.as<std::int32_t>()[b];
      const float* row = p.f32() + b * classes;
      T* target = dlogits.as<T>() + b * classes;
      for (std::int64_t k = 0; k < classes; ++k) {
        const float t = others + (k == label ? at_label : 0.0F);
        store(target[k], (row[k] - t) * factor);
      }
    }
  });
}

/// Lane i sums the errors i, i + kLanes, …; then the lanes are added in order.
double sum_of_squared_errors(const float* prediction, const float* target, std::int64_t count) {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double error =
          static_cast<double>(prediction[i + lane]) - static_cast<double>(target[i + lane]);
      lanes[lane] += error * error;
    }
  }
  for (std::int64_t lane = 0; i + lane < count; ++lane) {
    const double error =
        static_cast<double>(prediction[i + lane]) - static_cast<double>(target[i + lane]);
    lanes[lane] += error * error;
  }
  double sum = 0;
  for (double lane : lanes) sum += lane;
  return sum;
}

/// The first of equal logits is the prediction. A NaN is never larger: a diverged model scores 0.
template <typename T>
bool is_correct(const T* row, std::int64_t classes, std::int32_t label) {
  const float mine = load(row[label]);
  for (std::int64_t k = 0; k < classes; ++k) {
    const float other = load(row[k]);
    if (k < label && !(mine > other)) return false;
    if (k > label && !(mine >= other)) return false;
  }
  return true;
}

KernelPointer softmax_cross_entropy(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(SoftmaxCrossEntropy<T>(request)); });
}

KernelPointer softmax_cross_entropy_backward(const KernelRequest& request) {
  return with_element(request.outputs[0].type.element, [&]<typename T>(T) {
    return build_softmax_cross_entropy_backward<T>(request);
  });
}

KernelPointer mean_squared_error(const KernelRequest& request) {
  const Tensor prediction = request.inputs[0], target = request.inputs[1];
  if (prediction.type.element != ElementType::F32) return nullptr;
  float* loss = request.outputs[0].f32();
  const double factor = 1 / (static_cast<double>(prediction.type.columns()) *
                             static_cast<double>(request.node.attributes.integer("divisor")));
  return make_kernel([=, count = prediction.elements()](const StepContext&) {
    *loss =
        static_cast<float>(factor * sum_of_squared_errors(prediction.f32(), target.f32(), count));
  });
}

KernelPointer mean_squared_error_backward(const KernelRequest& request) {
  const Tensor prediction = request.inputs[0], target = request.inputs[1];
  if (prediction.type.element != ElementType::F32) return nullptr;
  float* gradient = request.outputs[0].f32();
  const auto factor =
      static_cast<float>(2 / (static_cast<double>(prediction.type.columns()) *
                              static_cast<double>(request.node.attributes.integer("divisor"))));
  return make_kernel([=, count = prediction.elements()](const StepContext&) {
    const float* p = prediction.f32();
    const float* t = target.f32();
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) gradient[i] = factor * (p[i] - t[i]);
  });
}

KernelPointer count_correct(const KernelRequest& request) {
  const Tensor logits = request.inputs[0], labels = request.inputs[1];
  float* count = request.outputs[0].f32();
  return with_element(logits.type.element, [=]<typename T>(T) {
    return make_kernel(
        [=, batch = logits.type.rows(), classes = logits.type.columns()](const StepContext&) {
          float correct = 0;
          for (std::int64_t b = 0; b < batch; ++b) {
            const std::int32_t label = labels.as<std::int32_t>()[b];
            if (is_correct(logits.as<T>() + b * classes, classes, label)) correct += 1;
          }
          *count = correct;
        });
  });
}

}  // namespace

KernelRows loss_kernels() {
  return {{Op::SoftmaxCrossEntropy, softmax_cross_entropy},
          {Op::SoftmaxCrossEntropyBackward, softmax_cross_entropy_backward},
          {Op::MeanSquaredError, mean_squared_error},
          {Op::MeanSquaredErrorBackward, mean_squared_error_backward},
          {Op::CountCorrect, count_correct}};
}

}  // namespace regatta::cpu
