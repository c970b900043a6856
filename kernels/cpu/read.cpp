// SPDX-License-Identifier: Apache-2.0
//
// read of a variable that others update at any time: copies it and notes the version that was
// finished before the copy began, with the time. With locks, each block of kShardElements is of one
// version, the noted one or a newer one; blocks may differ. With relaxed atomics the same holds for
// each element, except for lost updates. (A variable that is not shared is read as a view, without
// a kernel.)
#include <algorithm>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/cpu/relaxed.h"
#include "kernels/cpu/shared_update.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::cpu {
namespace {

void copy_relaxed(float* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = Relaxed::load(from + i);
}

void copy_locked(VariableStorage& variable, float* to, std::int64_t count) {
  for (std::size_t shard = 0; shard < variable.shards.size(); ++shard) {
    const std::int64_t begin = static_cast<std::int64_t>(shard) * kShardElements;
    const std::int64_t size = std::min(kShardElements, count - begin);
    const std::lock_guard lock(variable.shards[shard]);
    std::memcpy(to + begin, variable.tensor.f32() + begin,
                static_cast<std::size_t>(size) * sizeof(float));
  }
}

KernelPointer read(const KernelRequest& request) {
  VariableStorage* variable = request.variables[0];
  SeenVersion* seen = request.versions_seen[0];
  const Tensor y = request.outputs[0];
  if (y.type.element != ElementType::F32) return nullptr;
  check(variable->sharing != Sharing::None && seen != nullptr,
        "only variables that are shared are read by a kernel");
  return make_kernel([=, count = y.elements()](const StepContext&) {
    *seen = {.number = version_of(*variable, std::memory_order_acquire), .ticks = ticks()};
    if (variable->sharing == Sharing::Relaxed) {
      copy_relaxed(variable->tensor.f32(), y.f32(), count);
    } else {
      copy_locked(*variable, y.f32(), count);
    }
  });
}

}  // namespace

KernelRows read_kernels() { return {{Op::Read, read}}; }

}  // namespace regatta::cpu
