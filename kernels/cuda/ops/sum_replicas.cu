// SPDX-License-Identifier: Apache-2.0
//
// The sum of an all_reduce whose members share a GPU. Each element is read from all members, added
// in the order of the algorithm (addition_orders(), kernels/graph/collective.h), which gives the
// bits of kernels/comm/collective/all_reduce.cpp, and written to all members. With n members of M
// bytes each, n M are read and n M written, without extra memory.
#include <utility>
#include <vector>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/upload.h"
#include "kernels/cuda/factories.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/graph/collective.h"

namespace regatta::cuda {
namespace {

/// Elements with one order of additions.
struct Stretch {
  std::int64_t end;      ///< it begins where the one before ends
  float* const* first;   ///< buffers that are added up one after the other
  float* const* second;  ///< added up behind them; then this sum to the first
  float* const* last;    ///< the end of the second
};

/// `first`, `second` and `last` are of pointers in memory of the queue's device.
struct Stretches {
  Scratch buffers;
  Scratch stretches;
};

/// A thread takes kWidth neighbouring elements.
template <int kWidth>
struct SumReplicas {
  const Stretch* stretches;
  std::int64_t elements;

  template <int kCount>
  static __host__ __device__ void add_up(float* const* buffer, float* const* end, std::int64_t at,
                                         float (&sum)[kCount]) {
    load_pack<kCount>(*buffer + at, sum);
    for (++buffer; buffer != end; ++buffer) {
      float part[kCount];
      load_pack<kCount>(*buffer + at, part);
      for (int j = 0; j < kCount; ++j) sum[j] += part[j];
    }
  }

  template <int kCount>
  static __host__ __device__ void sum(const Stretch& stretch, std::int64_t at) {
    float sum[kCount];
    add_up<kCount>(stretch.first, stretch.second, at, sum);
    if (stretch.second != stretch.last) {
      float second[kCount];
      add_up<kCount>(stretch.second, stretch.last, at, second);
      for (int j = 0; j < kCount; ++j) sum[j] += second[j];
    }
    for (float* const* to = stretch.first; to != stretch.last; ++to) {
      store_pack<kCount>(*to + at, sum);
    }
  }

  __host__ __device__ void operator()(std::int64_t pack) const {
    const std::int64_t begin = pack * kWidth;
    const Stretch* stretch = stretches;
    while (stretch->end <= begin) ++stretch;
    if (begin + kWidth <= stretch->end) return sum<kWidth>(*stretch, begin);
    const std::int64_t end = begin + kWidth < elements ? begin + kWidth : elements;
    for (std::int64_t i = begin; i < end; ++i) {
      while (stretch->end <= i) ++stretch;
      sum<1>(*stretch, i);
    }
  }
};

Stretches upload_stretches(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const std::vector<AdditionOrder> orders =
      addition_orders({.algorithm = attributes.text("algorithm"),
                       .members = attributes.integer("members"),
                       .group = attributes.integer("group"),
                       .elements = request.inputs[0].elements()});
  std::vector<float*> buffers;
  for (const AdditionOrder& order : orders) {
    for (const auto* members : {&order.first, &order.second}) {
      for (const std::int64_t member : *members) {
        buffers.push_back(request.inputs[static_cast<std::size_t>(member)].f32());
      }
    }
  }
  const Queue& queue = queue_of(request);
  Stretches uploaded{.buffers = upload(queue, std::span<float* const>(buffers)), .stretches = {}};
  std::vector<Stretch> stretches;
  float* const* next = uploaded.buffers.as<float*>();
  for (const AdditionOrder& order : orders) {
    float* const* const second = next + order.first.size();
    float* const* const last = second + order.second.size();
    stretches.push_back({.end = order.elements.end, .first = next, .second = second, .last = last});
    next = last;
  }
  uploaded.stretches = upload(queue, std::span<const Stretch>(stretches));
  return uploaded;
}

template <int kWidth>
KernelPointer build(const KernelRequest& request) {
  Queue* const queue = &queue_of(request);
  auto memory = std::make_shared<const Stretches>(upload_stretches(request));
  const SumReplicas<kWidth> body{.stretches = memory->stretches.as<Stretch>(),
                                 .elements = request.inputs[0].elements()};
  const std::int64_t packs = (body.elements + kWidth - 1) / kWidth;
  return make_kernel([queue, body, packs, keep = std::move(memory)](const StepContext&) {
    for_each(*queue, packs, body);
  });
}

}  // namespace

KernelPointer sum_replicas(const KernelRequest& request) {
  check(std::ssize(request.inputs) == request.node.attributes.integer("members"),
        "a sum over replicas is built with the buckets of all of them");
  bool aligned = true;
  for (const Tensor& bucket : request.inputs) {
    if (bucket.type.element != ElementType::F32) return nullptr;
    check(bucket.elements() == request.inputs[0].elements(), "replicas' buckets agree in size");
    aligned &= are_aligned({bucket.data});
  }
  return aligned ? build<kPackWidth<float>>(request) : build<1>(request);
}

}  // namespace regatta::cuda
