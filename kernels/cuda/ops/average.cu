// SPDX-License-Identifier: Apache-2.0
//
// average of a variable and the same variable of a peer (shared_variable.h). The device draws the
// peer's number from the step's number. A block of threads holds the locks of its shard in both.
#include <memory>
#include <utility>
#include <vector>

#include "kernels/base/random.h"
#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/shared_variable.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

struct Replica {
  float* elements;
  std::uint32_t* locks;
  std::uint64_t* averages;
};

struct Draw {
  const StepValues* step;
  const Replica* others;  ///< device memory
  std::uint32_t replica;
  std::uint32_t count;

  __host__ __device__ const Replica& operator()() const {
    return others[draw_peer(replica, step->step, count)];
  }
};

struct Average {
  Draw peer;
  Replica own;
  Shards shards;

  __host__ __device__ void operator()(const Block& block) const {
    const Replica other = peer();
    std::uint32_t* low = own.locks + block.index;
    std::uint32_t* high = other.locks + block.index;
    if (high < low) std::swap(low, high);
    block.each([&](int thread) {
      if (thread != 0) return;
      lock(low);
      lock(high);
    });
    shards.for_each_pack_held(
        block, [&](std::int64_t first, int width) { average_pack(other, first, width); });
    block.each([&](int thread) {
      if (thread != 0) return;
      unlock(high);
      unlock(low);
    });
  }

  __host__ __device__ void average_pack(const Replica& other, std::int64_t first, int width) const {
    float mine[kSharedWidth] = {}, theirs[kSharedWidth] = {};
    load_relaxed(own.elements + first, width, mine);
    load_relaxed(other.elements + first, width, theirs);
    for (int j = 0; j < kSharedWidth; ++j) mine[j] = 0.5F * (mine[j] + theirs[j]);
    store_relaxed(own.elements + first, width, mine);
    store_relaxed(other.elements + first, width, mine);
  }
};

struct CountAverage {
  Draw peer;
  std::uint64_t* own;
  SeenVersion* seen;  ///< null: no node reads the variable

  __host__ __device__ void operator()(std::int64_t) const {
    count_one(own);
    count_one(peer().averages);
    if (seen != nullptr) ++seen->number;
  }
};

Replica replica_of(const VariableStorage& variable) {
  check(variable.sharing == Sharing::Locked && variable.shard_words != nullptr,
        "average needs locks");
  return {.elements = variable.tensor.f32(),
          .locks = variable.shard_words,
          .averages = &variable.counts->averages};
}

KernelPointer average(const KernelRequest& request) {
  if (request.variables[0]->tensor.type.element != ElementType::F32) return nullptr;
  Queue* const queue = &queue_of(request);
  std::vector<Replica> others;
  for (const VariableStorage* each : request.variables.subspan(1)) {
    others.push_back(replica_of(*each));
  }
  const auto bytes = static_cast<std::int64_t>(others.size() * sizeof(Replica));
  const auto memory = std::make_shared<Scratch>(*queue, bytes);
  queue->device().write(memory->as<Replica>(), others.data(), bytes);
  const Draw peer{.step = queue->values(),
                  .others = memory->as<Replica>(),
                  .replica = static_cast<std::uint32_t>(request.node.attributes.integer("replica")),
                  .count = static_cast<std::uint32_t>(others.size())};
  const Replica own = replica_of(*request.variables[0]);
  const Average body{.peer = peer, .own = own, .shards = Shards(*request.variables[0])};
  const CountAverage count{
      .peer = peer,
      .own = own.averages,
      .seen = request.versions_seen.empty() ? nullptr : request.versions_seen[0]};
  return make_kernel([=, blocks = body.shards.blocks(), keep = memory](const StepContext&) {
    for_each_block(*queue, blocks, Shards::kThreads, 0, body);
    for_each(*queue, 1, count);
  });
}

}  // namespace

KernelRows average_kernels() { return {{Op::Average, average}}; }

}  // namespace regatta::cuda
