// SPDX-License-Identifier: Apache-2.0
//
// add, scale, quotient, sum of n times a factor, cast between f32 and bf16.
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/cuda/ops/elementwise.h"
#include "kernels/cuda/ops/merged.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

KernelPointer copy(const KernelRequest&);  // copy.cu

namespace {

struct Plus {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

struct Times {
  float factor;
  __host__ __device__ float operator()(float x) const { return factor * x; }
};

struct Over {
  const float* divisor;
  __host__ __device__ float operator()(float x) const { return x / *divisor; }
};

struct Same {
  __host__ __device__ float operator()(float x) const { return x; }
};

template <typename To, typename From>
struct MergedCasts {
  Merged<MapOne<To, From, Same>> all;

  __host__ __device__ void operator()(std::int64_t index) const {
    const int mine = all.at(index);
    all.bodies[mine](index - all.begins[mine]);
  }
};

/// A cast that merges with others, such as the casts of all weights.
template <typename To, typename From>
class CastKernel final : public Kernel {
 public:
  explicit CastKernel(const KernelRequest& request)
      : queue_(queue_of(request)),
        body_{.x = request.inputs[0].as<From>(),
              .y = request.outputs[0].as<To>(),
              .count = request.outputs[0].elements(),
              .aligned = are_aligned({request.inputs[0].data, request.outputs[0].data}),
              .function = {}},
        packs_((body_.count + Body::kWidth - 1) / Body::kWidth) {}

  void run(const StepContext&) override {
    if (const Merged<Body> merged = memory_.merged(); merged.count > 0) {
      for_each(queue_, packs_, MergedCasts<To, From>{merged});
    } else {
      for_each(queue_, packs_, body_);
    }
  }

  bool merges_with(const Kernel& other) const override {
    return dynamic_cast<const CastKernel*>(&other) != nullptr;
  }

  void take_over(std::span<Kernel* const> others) override {
    std::vector<Body> bodies{body_};
    std::vector<std::int64_t> begins{0};
    for (Kernel* each : others) {
      auto& other = dynamic_cast<CastKernel&>(*each);
      bodies.push_back(other.body_);
      begins.push_back(packs_);
      packs_ += std::exchange(other.packs_, 0);
    }
    memory_ = MergedMemory<Body>(queue_, bodies, begins);
  }

 private:
  using Body = MapOne<To, From, Same>;

  Queue& queue_;
  Body body_;
  std::int64_t packs_;  ///< of the launch; 0: another kernel's launch does the work
  MergedMemory<Body> memory_;
};

/// This many pointers fit into a launch's parameters with room to spare.
constexpr std::size_t kMaxTerms = 256;

/// y[i] = factor * sum of terms[t][i], added in the order of the terms.
template <typename T>
struct Sum {
  static constexpr int kWidth = kPackWidth<T>;

  const T* terms[kMaxTerms];
  int term_count;
  T* y;
  std::int64_t count;
  bool aligned;
  float factor;

  __host__ __device__ void operator()(std::int64_t index) const {
    const std::int64_t first = index * kWidth;
    if (aligned && first + kWidth <= count) {
      float total[kWidth] = {}, term[kWidth];
      for (int t = 0; t < term_count; ++t) {
        load_pack(terms[t] + first, term);
        for (int j = 0; j < kWidth; ++j) total[j] += term[j];
      }
      for (float& value : total) value *= factor;
      store_pack(y + first, total);
      return;
    }
    for (std::int64_t i = first; i < first + kWidth && i < count; ++i) {
      float total = 0;
      for (int t = 0; t < term_count; ++t) total += load(terms[t][i]);
      store(y[i], factor * total);
    }
  }
};

template <typename T>
KernelPointer build_sum(const KernelRequest& request) {
  const Tensor y = request.outputs[0];
  Sum<T> body{.terms = {},
              .term_count = static_cast<int>(request.inputs.size()),
              .y = y.as<T>(),
              .count = y.elements(),
              .aligned = are_aligned({y.data}),
              .factor = static_cast<float>(request.node.attributes.real("factor"))};
  for (std::size_t t = 0; t < request.inputs.size(); ++t) {
    body.terms[t] = request.inputs[t].template as<T>();
    body.aligned = body.aligned && are_aligned({request.inputs[t].data});
  }
  return launch_packs(request, y.elements(), body);
}

KernelPointer add(const KernelRequest& request) { return map_two(request, Plus{}); }

KernelPointer quotient(const KernelRequest& request) {
  return map_one_as<float, float>(request, Over{request.inputs[1].f32()});
}

KernelPointer scale(const KernelRequest& request) {
  return map_one(request, Times{static_cast<float>(request.node.attributes.real("factor"))});
}

KernelPointer sum(const KernelRequest& request) {
  if (request.inputs.size() > kMaxTerms) {
    throw RunError(ErrorKind::Unsupported,
                   "a GPU adds up at most " + std::to_string(kMaxTerms) + " values at once, not " +
                       std::to_string(request.inputs.size()) + "; fix: use fewer workers");
  }
  return with_element(request.outputs[0].type.element,
                      [&]<typename T>(T) { return build_sum<T>(request); });
}

KernelPointer cast(const KernelRequest& request) {
  const ElementType from = request.inputs[0].type.element, to = request.outputs[0].type.element;
  if (from == to) return copy(request);
  if (from == ElementType::F32 && to == ElementType::BF16) {
    return std::make_unique<CastKernel<Bf16, float>>(request);
  }
  if (from == ElementType::BF16 && to == ElementType::F32) {
    return std::make_unique<CastKernel<float, Bf16>>(request);
  }
  return nullptr;
}

}  // namespace

KernelRows arithmetic_kernels() {
  return {{Op::Add, add},
          {Op::Quotient, quotient},
          {Op::Scale, scale},
          {Op::Sum, sum},
          {Op::Cast, cast}};
}

}  // namespace regatta::cuda
