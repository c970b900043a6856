// SPDX-License-Identifier: Apache-2.0
//
// read of a variable that other queues update at any time: the device notes the finished version
// and the time, then copies (shared_variable.h). A variable that is not shared is read as a view,
// without a kernel.
#include "kernels/cuda/ops/shared_variable.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

struct NoteVersion {
  const VersionCounts* counts;
  SeenVersion* seen;

  __host__ __device__ void operator()(std::int64_t) const {
    *seen = {.number = finished_version(&counts->version) + finished_version(&counts->averages),
             .ticks = device_clock()};
  }
};

struct CopyShared {
  Shards shards;
  const float* from;
  float* to;

  __host__ __device__ void operator()(const Block& block) const {
    shards.for_each_pack(block, [&](std::int64_t first, int width) {
      float pack[kSharedWidth];
      load_relaxed(from + first, width, pack);
      for (int j = 0; j < kSharedWidth; ++j) {
        if (j < width) to[first + j] = pack[j];
      }
    });
  }
};

KernelPointer read(const KernelRequest& request) {
  VariableStorage& variable = *request.variables[0];
  const Tensor y = request.outputs[0];
  if (y.type.element != ElementType::F32) return nullptr;
  check(variable.sharing != Sharing::None && request.versions_seen[0] != nullptr,
        "only variables that are shared are read by a kernel");
  Queue* const queue = &queue_of(request);
  const NoteVersion note{.counts = variable.counts, .seen = request.versions_seen[0]};
  const Shards shards(variable);
  const CopyShared copy{.shards = shards, .from = variable.tensor.f32(), .to = y.f32()};
  return make_kernel([=, blocks = shards.blocks()](const StepContext&) {
    for_each(*queue, 1, note);
    for_each_block(*queue, blocks, Shards::kThreads, 0, copy);
  });
}

}  // namespace

KernelRows read_kernels() { return {{Op::Read, read}}; }

}  // namespace regatta::cuda
