// SPDX-License-Identifier: Apache-2.0
//
// The sum of an all_reduce whose members share a GPU. Each element is read from all members, added
// in the order of the algorithm (addition_orders(), kernels/graph/collective.h), which gives the
// bits of kernels/comm/collective/all_reduce.cpp, in bf16 as in f32, and written to all members.
// With n members of M bytes each, n M are read and n M written, without extra memory.
#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/upload.h"
#include "kernels/cuda/factories.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/graph/collective.h"

namespace regatta::cuda {
namespace {

/// Elements with one order of additions.
template <typename T>
struct Stretch {
  std::int64_t end;  ///< it begins where the one before ends
  T* const* first;   ///< buffers that are added up one after the other
  T* const* second;  ///< added up behind them; then this sum to the first
  T* const* last;    ///< the end of the second
};

/// As the element type holds it.
template <typename T>
__host__ __device__ float held(float value) {
  T element;
  store(element, value);
  return load(element);
}

/// `first`, `second` and `last` are of pointers in memory of the queue's device.
struct Stretches {
  Scratch buffers;
  Scratch stretches;
};

/// A thread takes kWidth neighbouring elements.
template <typename T, int kWidth>
struct SumReplicas {
  const Stretch<T>* stretches;
  std::int64_t elements;

  template <int kCount>
  static __host__ __device__ void add_up(T* const* buffer, T* const* end, std::int64_t at,
                                         float (&sum)[kCount]) {
    load_pack<kCount>(*buffer + at, sum);
    for (++buffer; buffer != end; ++buffer) {
      float part[kCount];
      load_pack<kCount>(*buffer + at, part);
      for (int j = 0; j < kCount; ++j) sum[j] = held<T>(sum[j] + part[j]);
    }
  }

  template <int kCount>
  static __host__ __device__ void sum(const Stretch<T>& stretch, std::int64_t at) {
    float sum[kCount];
    add_up<kCount>(stretch.first, stretch.second, at, sum);
    if (stretch.second != stretch.last) {
      float second[kCount];
      add_up<kCount>(stretch.second, stretch.last, at, second);
      for (int j = 0; j < kCount; ++j) sum[j] = held<T>(sum[j] + second[j]);
    }
    for (T* const* to = stretch.first; to != stretch.last; ++to) {
      store_pack<kCount>(*to + at, sum);
    }
  }

  __host__ __device__ void operator()(std::int64_t pack) const {
    const std::int64_t begin = pack * kWidth;
    const Stretch<T>* stretch = stretches;
    while (stretch->end <= begin) ++stretch;
    if (begin + kWidth <= stretch->end) return sum<kWidth>(*stretch, begin);
    const std::int64_t end = begin + kWidth < elements ? begin + kWidth : elements;
    for (std::int64_t i = begin; i < end; ++i) {
      while (stretch->end <= i) ++stretch;
      sum<1>(*stretch, i);
    }
  }
};

template <typename T>
Stretches upload_stretches(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const std::vector<AdditionOrder> orders =
      addition_orders({.algorithm = attributes.text("algorithm"),
                       .members = attributes.integer("members"),
                       .group = attributes.integer("group"),
                       .elements = request.inputs[0].elements()});
  std::vector<T*> buffers;
  for (const AdditionOrder& order : orders) {
    for (const auto* members : {&order.first, &order.second}) {
      for (const std::int64_t member : *members) {
        buffers.push_back(request.inputs[static_cast<std::size_t>(member)].as<T>());
      }
    }
  }
  const Queue& queue = queue_of(request);
  Stretches uploaded{.buffers = upload(queue, std::span<T* const>(buffers)), .stretches = {}};
  std::vector<Stretch<T>> stretches;
  T* const* next = uploaded.buffers.as<T*>();
  for (const AdditionOrder& order : orders) {
    T* const* const second = next + order.first.size();
    T* const* const last = second + order.second.size();
    stretches.push_back({.end = order.elements.end, .first = next, .second = second, .last = last});
    next = last;
  }
  uploaded.stretches = upload(queue, std::span<const Stretch<T>>(stretches));
  return uploaded;
}

template <typename T, int kWidth>
KernelPointer build(const KernelRequest& request) {
  Queue* const queue = &queue_of(request);
  const std::shared_ptr<const Stretches> memory =
      std::make_shared<const Stretches>(upload_stretches<T>(request));
  const SumReplicas<T, kWidth> body{.stretches = memory->stretches.as<Stretch<T>>(),
                                    .elements = request.inputs[0].elements()};
  const std::int64_t packs = (body.elements + kWidth - 1) / kWidth;
  return make_kernel(
      [queue, body, packs, keep = memory](const StepContext&) { for_each(*queue, packs, body); });
}

template <typename T>
KernelPointer build(const KernelRequest& request) {
  const bool aligned = std::all_of(request.inputs.begin(), request.inputs.end(),
                                   [](const Tensor& bucket) { return are_aligned({bucket.data}); });
  return aligned ? build<T, kPackWidth<T>>(request) : build<T, 1>(request);
}

}  // namespace

KernelPointer sum_replicas(const KernelRequest& request) {
  check(std::ssize(request.inputs) == request.node.attributes.integer("members"),
        "a sum over replicas is built with the buckets of all of them");
  for (const Tensor& bucket : request.inputs) {
    check(bucket.type == request.inputs[0].type, "replicas' buckets agree in type");
  }
  switch (request.inputs[0].type.element) {
    case ElementType::F32: return build<float>(request);
    case ElementType::BF16: return build<Bf16>(request);
    default: return nullptr;
  }
}

}  // namespace regatta::cuda
