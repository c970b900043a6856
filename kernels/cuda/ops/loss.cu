// SPDX-License-Identifier: Apache-2.0
//
// softmax_cross_entropy with smoothing e over K classes: loss = -sum_k t_k log p_k / divisor, with
// t_k = (1 - e) [k = label] + e / K; dlogits = (p - t) / divisor.
// mean_squared_error: loss = sum over examples of the mean over outputs of (p - t)², / divisor.
// A block computes one example; another block adds up the examples' terms in double.
#include <cmath>

#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/elementwise.h"
#include "kernels/cuda/ops/total.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

/// One example for each block: its probabilities and its loss.
template <typename T>
struct Softmax {
  const T* logits;
  const std::int32_t* labels;
  float* probabilities;
  float* losses;
  std::int64_t classes;
  float smoothing;

  /// A thread's part of the sums over the classes, and of the largest logit.
  struct Partial {
    float largest;
    float sum;      ///< of exp(logit - largest)
    float shifted;  ///< of logit - largest
  };

  __host__ __device__ void operator()(const Block& block) const {
    auto* partial = reinterpret_cast<Partial*>(block.shared);
    const T* row = logits + block.index * classes;
    float* p = probabilities + block.index * classes;
    find_largest(block, partial, row);
    block.each([&](int thread) {
      const float largest = partial[0].largest;
      float sum = 0, shifted = 0;
      for (std::int64_t k = thread; k < classes; k += block.threads) {
        const float logit = load(row[k]) - largest;
        p[k] = expf(logit);
        sum += p[k];
        shifted += logit;
      }
      partial[thread].sum = sum;
      partial[thread].shifted = shifted;
    });
    for (int middle = block.threads / 2; middle > 0; middle /= 2) {
      block.each([&](int thread) {
        if (thread >= middle) return;
        partial[thread].sum += partial[thread + middle].sum;
        partial[thread].shifted += partial[thread + middle].shifted;
      });
    }
    block.each([&](int thread) {
      const float factor = 1.0F / partial[0].sum;
      for (std::int64_t k = thread; k < classes; k += block.threads) p[k] *= factor;
      if (thread == 0) store_loss(block.index, row, partial[0]);
    });
  }

  /// Finds the largest logit. NaNs may be skipped here: they are in the sums.
  __host__ __device__ void find_largest(const Block& block, Partial* partial, const T* row) const {
    block.each([&](int thread) {
      float largest = -INFINITY;
      for (std::int64_t k = thread; k < classes; k += block.threads) {
        largest = fmaxf(largest, load(row[k]));
      }
      partial[thread].largest = largest;
    });
    for (int middle = block.threads / 2; middle > 0; middle /= 2) {
      block.each([&](int thread) {
        if (thread >= middle) return;
        partial[thread].largest = fmaxf(partial[thread].largest, partial[thread + middle].largest);
      });
    }
  }

  __host__ __device__ void store_loss(std::int64_t example, const T* row,
                                      const Partial& all) const {
    const float at_label = load(row[labels[example]]) - all.largest;
    losses[example] = logf(all.sum) - (1 - smoothing) * at_label -
                      smoothing / static_cast<float>(classes) * all.shifted;
  }
};

/// Threads for an example: a power of two, about one for each class, from 32 to 256.
int threads_for(std::int64_t classes) {
  int threads = 32;
  while (threads < 256 && threads < classes) threads *= 2;
  return threads;
}

template <typename T>
KernelPointer build_softmax(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor logits = request.inputs[0];
  const std::int64_t batch = logits.type.rows(), classes = logits.type.columns();
  const auto losses =
      std::make_shared<Scratch>(*queue, batch * static_cast<std::int64_t>(sizeof(float)));
  const Softmax<T> body{
      .logits = logits.as<T>(),
      .labels = request.inputs[1].template as<std::int32_t>(),
      .probabilities = request.outputs[1].f32(),
      .losses = losses->template as<float>(),
      .classes = classes,
      .smoothing = static_cast<float>(request.node.attributes.real("label_smoothing"))};
  const Total<FloatAt> total{
      .term = {body.losses},
      .count = batch,
      .factor = 1 / static_cast<double>(request.node.attributes.integer("divisor")),
      .result = request.outputs[0].f32()};
  const int threads = threads_for(classes);
  const std::size_t shared =
      static_cast<std::size_t>(threads) * sizeof(typename Softmax<T>::Partial);
  return make_kernel([=, keep = losses](const StepContext&) {
    for_each_block(*queue, batch, threads, shared, body);
    enqueue_total(*queue, total);
  });
}

template <typename T>
struct SoftmaxBackward {
  const float* probabilities;
  const std::int32_t* labels;
  T* dlogits;
  std::int64_t classes;
  float at_label;  ///< added to t at the label
  float elsewhere;
  float factor;

  __host__ __device__ void operator()(std::int64_t i) const {
    const std::int64_t example = i / classes;
    const float t = elsewhere + (i % classes == labels[example] ? at_label : 0.0F);
    store(dlogits[i], (probabilities[i] - t) * factor);
  }
};

struct SquaredError {
  const float* prediction;
  const float* target;
  __host__ __device__ double operator()(std::int64_t i) const {
    const double error = static_cast<double>(prediction[i]) - static_cast<double>(target[i]);
    return error * error;
  }
};

struct ErrorTimes {
  float factor;
  __host__ __device__ float operator()(float prediction, float target) const {
    return factor * (prediction - target);
  }
};

/// 1 if the label's logit is the largest and the first of equals, else 0. With NaN it is 0, so a
/// diverged model scores 0.
template <typename T>
struct IsCorrect {
  const T* logits;
  const std::int32_t* labels;
  std::int64_t classes;

  __host__ __device__ double operator()(std::int64_t example) const {
    const T* row = logits + example * classes;
    const std::int32_t label = labels[example];
    const float mine = load(row[label]);
    bool wins = true;
    for (std::int64_t k = 0; k < classes; ++k) {
      const float other = load(row[k]);
      if (k < label) wins = wins && mine > other;
      if (k > label) wins = wins && mine >= other;
    }
    return wins ? 1 : 0;
  }
};

/// Stores terms[i] = term(i), by many threads, before one block adds them up.
template <typename Term>
struct StoreTerms {
  Term term;
  float* terms;
  __host__ __device__ void operator()(std::int64_t i) const {
    terms[i] = static_cast<float>(term(i));
  }
};

double squared_error_factor(const KernelRequest& request) {
  return 1 / (static_cast<double>(request.inputs[0].type.columns()) *
              static_cast<double>(request.node.attributes.integer("divisor")));
}

KernelPointer softmax_cross_entropy(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return build_softmax<T>(request); });
}

KernelPointer softmax_cross_entropy_backward(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor p = request.inputs[0], dlogits = request.outputs[0];
  const Attributes& attributes = request.node.attributes;
  const double smoothing = attributes.real("label_smoothing");
  const std::int64_t classes = p.type.columns();
  return with_element(dlogits.type.element, [&]<typename T>(T) {
    const SoftmaxBackward<T> body{
        .probabilities = p.f32(),
        .labels = request.inputs[1].as<std::int32_t>(),
        .dlogits = dlogits.as<T>(),
        .classes = classes,
        .at_label = static_cast<float>(1 - smoothing),
        .elsewhere = static_cast<float>(smoothing / static_cast<double>(classes)),
        .factor = static_cast<float>(1 / static_cast<double>(attributes.integer("divisor")))};
    return make_kernel(
        [queue, body, count = p.elements()](const StepContext&) { for_each(*queue, count, body); });
  });
}

KernelPointer mean_squared_error(const KernelRequest& request) {
  const Tensor prediction = request.inputs[0], target = request.inputs[1];
  if (prediction.type.element != ElementType::F32) return nullptr;
  Queue* queue = &queue_of(request);
  const Total<SquaredError> total{.term = {prediction.f32(), target.f32()},
                                  .count = prediction.elements(),
                                  .factor = squared_error_factor(request),
                                  .result = request.outputs[0].f32()};
  return make_kernel([=](const StepContext&) { enqueue_total(*queue, total); });
}

KernelPointer mean_squared_error_backward(const KernelRequest& request) {
  if (request.inputs[0].type.element != ElementType::F32) return nullptr;
  return map_two(request, ErrorTimes{static_cast<float>(2 * squared_error_factor(request))});
}

KernelPointer count_correct(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor logits = request.inputs[0];
  const std::int64_t batch = logits.type.rows();
  return with_element(logits.type.element, [&]<typename T>(T) {
    const auto scratch =
        std::make_shared<Scratch>(*queue, batch * static_cast<std::int64_t>(sizeof(float)));
    const StoreTerms<IsCorrect<T>> answers{
        .term = {logits.as<T>(), request.inputs[1].as<std::int32_t>(), logits.type.columns()},
        .terms = scratch->template as<float>()};
    const Total<FloatAt> total{
        .term = {answers.terms}, .count = batch, .factor = 1, .result = request.outputs[0].f32()};
    return make_kernel([=, keep = scratch](const StepContext&) {
      for_each(*queue, batch, answers);
      enqueue_total(*queue, total);
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

}  // namespace regatta::cuda
