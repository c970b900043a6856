// SPDX-License-Identifier: Apache-2.0
//
// softmax_cross_entropy with smoothing e over K classes: loss = -sum_k t_k log p_k / divisor, with
// t_k = (1 - e) [k = label] + e / K; dlogits = (p - t) / divisor.
// mean_squared_error: loss = sum over examples of the mean over outputs of (p - t)², / divisor.
// One thread adds the examples' losses in double, in their order.
#include <cmath>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/panels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/softmax.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

/// The number of sums of squares kept side by side, so that the loop vectorises in a fixed order.
constexpr std::int64_t kSums = 16;

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
        parts_(parts_for(request.threads, request.inputs[0].elements())),
        smoothing_(request.node.attributes.real("label_smoothing")),
        divisor_(static_cast<double>(request.node.attributes.integer("divisor"))),
        losses_(make_buffer<double>(static_cast<std::size_t>(batch_))) {}

  void operator()(const StepContext&) const {
    parallel_parts(parts_, [this](int part) {
      const Range mine = share(batch_, parts_, part);
      for (std::int64_t b = mine.begin; b < mine.end; ++b) losses_[at(b)] = loss_of(b);
    });
    double total = 0;
    for (std::int64_t b = 0; b < batch_; ++b) total += losses_[at(b)];
    *loss_ = static_cast<float>(total / divisor_);
  }

 private:
  static std::size_t at(std::int64_t b) { return static_cast<std::size_t>(b); }

  /// Returns the loss of example b and writes its probabilities.
  double loss_of(std::int64_t b) const {
    const T* row = logits_ + b * classes_;
    float* p = probabilities_ + b * classes_;
    const float largest = largest_logit(row, classes_);
    const double sum = sum_of_exponentials(
        row, classes_, largest, [p](auto k, Lanes e, auto lanes) { store_lanes(p + k, e, lanes); });
    const auto factor = static_cast<float>(1 / sum);
    for_each_lanes(classes_, [&](auto k, auto lanes) {
      store_lanes(p + k, load_lanes(p + k, lanes) * factor, lanes);
    });
    const auto shifted = [&](std::int64_t k) {
      return static_cast<double>(load(row[k]) - largest);
    };
    const double loss = std::log(sum) - (1 - smoothing_) * shifted(labels_[b]);
    if (smoothing_ == 0) return loss;
    double sum_of_logits = 0;
    for (std::int64_t k = 0; k < classes_; ++k) sum_of_logits += shifted(k);
    return loss - smoothing_ / static_cast<double>(classes_) * sum_of_logits;
  }

  const T* logits_;
  const std::int32_t* labels_;
  float* loss_;
  float* probabilities_;
  std::int64_t batch_;
  std::int64_t classes_;
  int parts_;
  double smoothing_;
  double divisor_;
  Buffer<double> losses_;
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
  const int parts = parts_for(request.threads, p.elements());
  return make_kernel([=](const StepContext&) {
    parallel_parts(parts, [&](int part) {
      const Range mine = share(batch, parts, part);
      for (std::int64_t b = mine.begin; b < mine.end; ++b) {
        const float* row = p.f32() + b * classes;
        T* target = dlogits.as<T>() + b * classes;
        for_each_lanes(classes, [&](auto k, auto lanes) {
          store_lanes(target + k, (load_lanes(row + k, lanes) - others) * factor, lanes);
        });
        const std::int32_t label = labels.as<std::int32_t>()[b];
        store(target[label], (row[label] - (others + at_label)) * factor);
      }
    });
  });
}

/// Lane i sums the errors i, i + kSums, …; then the lanes are added in order.
double sum_of_squared_errors(const float* prediction, const float* target, std::int64_t count) {
  double lanes[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kSums; ++lane) {
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
