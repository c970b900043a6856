// SPDX-License-Identifier: Apache-2.0
//
// add, scale, quotient, sum of n inputs in order times a factor, concatenate, take, put, cast,
// copy.
#include <cstring>
#include <span>
#include <vector>

#include "kernels/cpu/elementwise.h"
#include "kernels/graph/pieces.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

template <typename From, typename To>
KernelPointer convert(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const int parts = parts_for(request.threads, y.elements());
  return make_kernel([=, count = y.elements()](const StepContext&) {
    parallel_ranges(parts, count, [&](std::int64_t begin, std::int64_t end) {
      const From* from = x.as<From>();
      To* to = y.as<To>();
#pragma omp simd
      for (std::int64_t i = begin; i < end; ++i) store(to[i], load(from[i]));
    });
  });
}

/// Sums in one pass over memory; the block being summed stays in the first-level cache.
template <typename T>
class Sum {
 public:
  explicit Sum(const KernelRequest& request)
      : target_(request.outputs[0].as<T>()),
        count_(request.outputs[0].elements()),
        factor_(static_cast<float>(request.node.attributes.real("factor"))),
        parts_(parts_for(request.threads, count_)) {
    for (const Tensor& input : request.inputs) terms_.push_back(input.as<T>());
  }

  void operator()(const StepContext&) const {
    parallel_ranges(parts_, count_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; block += kBlock) {
        sum_block(block, std::min(kBlock, end - block));
      }
    });
  }

 private:
  static constexpr std::int64_t kBlock = 1024;

  void sum_block(std::int64_t begin, std::int64_t count) const {
    alignas(64) float sums[kBlock];
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) sums[i] = load(terms_.front()[begin + i]);
    for (const T* term : std::span(terms_).subspan(1)) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) sums[i] += load(term[begin + i]);
    }
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) store(target_[begin + i], factor_ * sums[i]);
  }

  std::vector<const T*> terms_;
  T* target_;
  std::int64_t count_;
  float factor_;
  int parts_;
};

KernelPointer add(const KernelRequest& request) {
  return map_two(request, [](auto, Lanes a, Lanes b) { return a + b; });
}

KernelPointer scale(const KernelRequest& request) {
  const auto factor = static_cast<float>(request.node.attributes.real("factor"));
  return map_one(request, [factor](auto, Lanes x) { return factor * x; });
}

KernelPointer quotient(const KernelRequest& request) {
  return map_one(request,
                 [divisor = request.inputs[1]](auto, Lanes x) { return x / *divisor.f32(); });
}

KernelPointer sum(const KernelRequest& request) {
  return with_element(request.outputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(Sum<T>(request)); });
}

KernelPointer copy(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return make_kernel([=, bytes = static_cast<std::size_t>(y.type.bytes())](const StepContext&) {
    std::memcpy(y.data, x.data, bytes);
  });
}

KernelPointer cast(const KernelRequest& request) {
  const ElementType from = request.inputs[0].type.element;
  const ElementType to = request.outputs[0].type.element;
  if (from == to) return copy(request);
  if (from == ElementType::F32 && to == ElementType::BF16) return convert<float, Bf16>(request);
  if (from == ElementType::BF16 && to == ElementType::F32) return convert<Bf16, float>(request);
  return nullptr;
}

KernelPointer concatenate(const KernelRequest& request) {
  const std::vector<Tensor> parts(request.inputs.begin(), request.inputs.end());
  const Tensor y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    char* to = y.as<char>();
    for (const Tensor& part : parts) {
      std::memcpy(to, part.data, static_cast<std::size_t>(part.type.bytes()));
      to += part.type.bytes();
    }
  });
}

/// Returns the kernel of take or put.
KernelPointer place(const KernelRequest& request) {
  const std::vector<Tensor> inputs(request.inputs.begin(), request.inputs.end());
  const Tensor y = request.outputs[0];
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(input.type);
  const std::vector<CopiedRows> pieces = pieces_of(request.node, types, y.type);
  const int parts = parts_for(request.threads, y.elements());
  const std::int64_t bytes = y.type.bytes() / y.elements();
  return make_kernel([=, is_covered = cover(pieces, y.type)](const StepContext&) {
    if (!is_covered) std::memset(y.data, 0, static_cast<std::size_t>(y.type.bytes()));
    for (const CopiedRows& piece : pieces) {
      const char* from = inputs[piece.input].as<char>() + piece.from * bytes;
      char* to = y.as<char>() + piece.to * bytes;
      parallel_ranges(parts, piece.rows, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          std::memcpy(to + row * piece.to_stride * bytes, from + row * piece.from_stride * bytes,
                      static_cast<std::size_t>(piece.columns * bytes));
        }
      });
    }
  });
}

}  // namespace

KernelRows arithmetic_kernels() {
  return {{Op::Add, add},    {Op::Scale, scale}, {Op::Quotient, quotient},
          {Op::Sum, sum},    {Op::Cast, cast},   {Op::Concatenate, concatenate},
          {Op::Take, place}, {Op::Put, place},   {Op::Copy, copy}};
}

}  // namespace regatta::cpu
