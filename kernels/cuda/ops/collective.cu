// SPDX-License-Identifier: Apache-2.0
//
// A collective of members that share a GPU, as one kernel for all of them. Each element is read
// from the members that have it, added in the order of the algorithm (addition_orders(),
// kernels/graph/collective.h), and written to the members that want it: an all_reduce's sums to
// all, a reduce_scatter's to the member that owns the share, an all_gather's elements from that
// member to all. The bits are those of kernels/comm/collective/all_reduce.cpp, in bf16 as in f32.
// With n members of M bytes each, an all_reduce reads n M and writes n M, a reduce_scatter n M and
// M, an all_gather M and n M, without extra memory.
#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/upload.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

/// Elements that the same members have and want.
template <typename T>
struct Stretch {
  std::int64_t end;  ///< the stretch begins at the previous one's end
  T* const* first;   ///< addresses of element 0, real or virtual; added up in this order
  T* const* second;  ///< those added up separately; their sum is then added to the first
  T* const* to;      ///< end of `second`; destinations of the sum
  T* const* last;    ///< end of `to`
  bool is_aligned;   ///< packs may be used
};

/// Rounds the value to the element type.
template <typename T>
__host__ __device__ float held(float value) {
  T element;
  store(element, value);
  return load(element);
}

/// Device memory of the stretches and of the addresses that they point to.
struct Stretches {
  Scratch buffers;
  Scratch stretches;
};

/// A thread takes kWidth neighbouring elements.
template <typename T, int kWidth>
struct Collective {
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
    if (stretch.second != stretch.to) {
      float second[kCount];
      add_up<kCount>(stretch.second, stretch.to, at, second);
      for (int j = 0; j < kCount; ++j) sum[j] = held<T>(sum[j] + second[j]);
    }
    for (T* const* to = stretch.to; to != stretch.last; ++to) store_pack<kCount>(*to + at, sum);
  }

  __host__ __device__ void operator()(std::int64_t pack) const {
    const std::int64_t begin = pack * kWidth;
    const Stretch<T>* stretch = stretches;
    while (stretch->end <= begin) ++stretch;
    if (stretch->is_aligned && begin + kWidth <= stretch->end) {
      return sum<kWidth>(*stretch, begin);
    }
    const std::int64_t end = begin + kWidth < elements ? begin + kWidth : elements;
    for (std::int64_t i = begin; i < end; ++i) {
      while (stretch->end <= i) ++stretch;
      sum<1>(*stretch, i);
    }
  }
};

/// A Stretch on the host.
template <typename T>
struct Way {
  Range elements;
  std::vector<T*> first, second, to;
};

template <typename T>
std::vector<T*> places_of(const std::vector<std::int64_t>& members,
                          std::span<const Tensor> buckets) {
  std::vector<T*> places;
  for (const std::int64_t member : members) {
    places.push_back(buckets[static_cast<std::size_t>(member)].as<T>());
  }
  return places;
}

/// Stretches of sums: an all_reduce's go to all members, a reduce_scatter's to the share's owner.
template <typename T>
std::vector<Way<T>> ways_of_sums(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const std::int64_t members = attributes.integer("members");
  const std::int64_t elements = request.inputs[0].elements();
  std::vector<Way<T>> ways;
  for (const AdditionOrder& order : addition_orders({.algorithm = attributes.text("algorithm"),
                                    .members = members,
                                    .group = attributes.integer("group"),
                                    .elements = elements})) {
    std::vector<std::int64_t> to;
    for (std::int64_t member = 0; member < members; ++member) {
      const Range own = share(elements, members, share_at(member, members));
      const bool is_own = own.size() > 0 && own.begin == order.elements.begin;
      if (request.node.op == Op::AllReduce || is_own) to.push_back(member);
    }
    ways.push_back({.elements = order.elements,
                    .first = places_of<T>(order.first, request.inputs),
                    .second = places_of<T>(order.second, request.inputs),
                    .to = places_of<T>(to, request.inputs)});
  }
  return ways;
}

/// The stretches of an all_gather: pieces of each member's share go to all members.
template <typename T>
std::vector<Way<T>> ways_of_shares(const KernelRequest& request) {
  const std::int64_t members = request.node.attributes.integer("members");
  const std::int64_t elements = request.outputs[0].elements();
  std::vector<T*> to;
  for (const Tensor& bucket : request.outputs) to.push_back(bucket.as<T>());
  std::vector<Way<T>> ways;
  auto piece = request.inputs.begin();
  for (std::int64_t member = 0; member < members; ++member) {
    const Range own = share(elements, members, share_at(member, members));
    for (std::int64_t at = own.begin; at < own.end; at = ways.back().elements.end, ++piece) {
      check(piece != request.inputs.end(), "an all_gather is built with the shares of all");
      ways.push_back({.elements = {at, at + piece->elements()},
                      .first = {piece->as<T>() - at},
                      .second = {},
                      .to = to});
      check(ways.back().elements.end <= own.end, "a piece of a share lies within it");
    }
  }
  check(piece == request.inputs.end(), "an all_gather is built with no more than all shares");
  std::sort(ways.begin(), ways.end(),
            [](const Way<T>& a, const Way<T>& b) { return a.elements.begin < b.elements.begin; });
  return ways;
}

template <typename T>
Stretches upload_stretches(const Queue& queue, const std::vector<Way<T>>& ways) {
  std::vector<T*> buffers;
  for (const Way<T>& way : ways) {
    for (const auto* each : {&way.first, &way.second, &way.to}) {
      buffers.insert(buffers.end(), each->begin(), each->end());
    }
  }
  Stretches uploaded{.buffers = upload(queue, std::span<T* const>(buffers)), .stretches = {}};
  std::vector<Stretch<T>> stretches;
  T* const* next = uploaded.buffers.as<T*>();
  auto buffer = buffers.begin();
  for (const Way<T>& way : ways) {
    T* const* const second = next + way.first.size();
    T* const* const to = second + way.second.size();
    T* const* const last = to + way.to.size();
    const auto end = buffer + (last - next);
    stretches.push_back(
        {.end = way.elements.end,
         .first = next,
         .second = second,
         .to = to,
         .last = last,
         .is_aligned = std::all_of(buffer, end, [](T* place) { return are_aligned({place}); })});
    next = last;
    buffer = end;
  }
  uploaded.stretches = upload(queue, std::span<const Stretch<T>>(stretches));
  return uploaded;
}

template <typename T>
KernelPointer build(const KernelRequest& request) {
  constexpr int kWidth = kPackWidth<T>;
  Queue* const queue = &queue_of(request);
  const std::shared_ptr<const Stretches> memory = std::make_shared<const Stretches>(
      upload_stretches<T>(*queue, request.node.op == Op::AllGather ? ways_of_shares<T>(request)
                                                                   : ways_of_sums<T>(request)));
  const Collective<T, kWidth> body{.stretches = memory->stretches.as<Stretch<T>>(),
                                   .elements = request.outputs[0].elements()};
  const std::int64_t packs = (body.elements + kWidth - 1) / kWidth;
  return make_kernel(
      [queue, body, packs, keep = memory](const StepContext&) { for_each(*queue, packs, body); });
}

KernelPointer collective(const KernelRequest& request) {
  check(std::ssize(request.outputs) == request.node.attributes.integer("members"),
        "a collective is built with the buckets of all members");
  for (const Tensor& bucket : request.outputs) {
    check(bucket.type == request.outputs[0].type, "members' buckets agree in type");
  }
  switch (request.outputs[0].type.element) {
    case ElementType::F32: return build<float>(request);
    case ElementType::BF16: return build<Bf16>(request);
    default: return nullptr;
  }
}

}  // namespace

KernelRows collective_kernels() {
  return {
      {Op::AllReduce, collective}, {Op::ReduceScatter, collective}, {Op::AllGather, collective}};
}

}  // namespace regatta::cuda
