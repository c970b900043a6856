// SPDX-License-Identifier: Apache-2.0
//
// A test double of NCCL's functions (nccl_calls.h): members are threads of one process, streams run
// their work later, communicators do not block. It counts calls and records violations of NCCL's
// rules.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/comm/grpc/stream_double_for_test.h"
#include "kernels/comm/nccl/nccl_calls.h"
#include "kernels/comm/nccl/nccl_settings.h"
#include "kernels/runtime/element.h"

namespace regatta::nccl_double {

/// The contributions to one exchange, by rank, until all have come.
struct Operation {
  std::map<int, std::vector<float>> parts;
};

/// One member's call of a collective.
struct Call {
  enum class Kind { AllReduce, Reduce, Broadcast };
  Kind kind = Kind::AllReduce;
  void* buffer = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  int root = -1;  ///< the rank that receives the sum, or sends to all
  cudaStream_t stream = nullptr;
};

/// All communicators that share a unique id.
struct World {
  int ranks = 0;
  std::map<int, int> device_of_rank;
  int closing = 0;
  std::map<std::uint64_t, Operation> operations;

  bool is_reducing() const {
    return std::any_of(operations.begin(), operations.end(), [this](const auto& operation) {
      return std::ssize(operation.second.parts) < ranks;
    });
  }
};

struct Communicator {
  World* world = nullptr;
  int rank = 0;
  ncclResult_t state = ncclInProgress;
  std::uint64_t operations = 0;                            ///< operations called; a group is one
  std::uint64_t reductions = 0;                            ///< reductions begun in the stream
  std::shared_ptr<void> graphs = std::make_shared<int>();  ///< each graph holds one more use
  std::vector<Call> grouped;                               ///< calls of the open group
  std::function<void()> issue;  ///< puts the last calls into their stream
  int looks = 0;                ///< state queries since those calls
  std::set<const void*> registered;
  bool aborted = false;
  bool destroyed = false;
};

inline constexpr int kVersion = 22809;

/// The state of the double, under one lock.
struct Library {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, World> worlds;
  std::deque<Communicator> communicators;
  std::vector<std::string> violations;
  int inits = 0, aborts = 0, finalizes = 0, destroys = 0, ids = 0;
  bool never_connects = false;
  int version = kVersion;

  Communicator& of(ncclComm_t handle) { return *reinterpret_cast<Communicator*>(handle); }

  /// Waits until some members, but not all, have begun a reduction.
  void await_reduction() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] {
      return std::any_of(worlds.begin(), worlds.end(),
                         [](const auto& world) { return world.second.is_reducing(); });
    });
  }

  /// Makes `rank` fail during a reduction: the other ranks then see ncclRemoteError. Only for tests
  /// with one world.
  void lose(int rank) {
    await_reduction();
    const std::scoped_lock lock(mutex);
    for (Communicator& each : communicators) {
      if (each.rank != rank && !each.aborted) each.state = ncclRemoteError;
    }
    changed.notify_all();
  }
};

inline std::unique_ptr<Library>& slot() {
  static std::unique_ptr<Library> library;
  return library;
}
inline Library& library() { return *slot(); }

/// NCCL's state of the calling thread.
struct ThreadState {
  int device = -1;
  int group_depth = 0;
  Communicator* calls_of = nullptr;  ///< the communicator of the grouped calls
};
inline ThreadState& here() {
  thread_local ThreadState state;
  return state;
}

inline ncclResult_t init(ncclComm_t* handle, int ranks, ncclUniqueId id, int rank,
                         ncclConfig_t* config) {
  Library& all = library();
  const std::scoped_lock lock(all.mutex);
  ++all.inits;
  if (config->blocking != 0) all.violations.push_back("a communicator that blocks");
  if (here().group_depth == 0) all.violations.push_back("init outside of a group");
  World& world = all.worlds[std::string(id.internal, sizeof id.internal)];
  world.ranks = ranks;
  const char* shares = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  const bool is_allowed = shares != nullptr && std::string(shares) == "1";
  if (all.version >= kSharesGpus && !is_allowed) {  // read once, at the first communicator
    all.violations.push_back("a communicator before ranks may share a GPU");
  }
  for (const auto& [other, device] : world.device_of_rank) {
    if (device != here().device || all.version >= kSharesGpus) continue;
    all.violations.push_back("two ranks on one GPU");
  }
  world.device_of_rank[rank] = here().device;
  Communicator& made = all.communicators.emplace_back();
  made.world = &world;
  made.rank = rank;
  *handle = reinterpret_cast<ncclComm_t>(&made);
  return ncclInProgress;
}

inline void issue_later(Communicator& own, std::vector<Call> calls);

/// Ends a group. Communicators connect at the end of the last group of a world; the thread's
/// grouped calls become one operation of their communicator.
inline ncclResult_t group_end() {
  Library& all = library();
  const std::scoped_lock lock(all.mutex);
  --here().group_depth;
  if (Communicator* const own = std::exchange(here().calls_of, nullptr); own != nullptr) {
    issue_later(*own, std::exchange(own->grouped, {}));
    return ncclInProgress;
  }
  for (Communicator& each : all.communicators) {
    const bool complete = std::ssize(each.world->device_of_rank) == each.world->ranks;
    if (complete && !all.never_connects && each.operations == 0 && !each.aborted) {
      each.state = ncclSuccess;
    }
  }
  return ncclInProgress;
}

/// Runs one member's call in its stream: waits for the others and adds in the order of ranks. A
/// reduction leaves useless values at members other than the root.
template <typename T>
void exchange(Communicator& own, const Call& call) {
  T* const buffer = static_cast<T*>(call.buffer);
  const std::size_t count = call.count;
  Library& all = library();
  std::unique_lock lock(all.mutex);
  Operation& operation = own.world->operations[own.reductions++];
  std::vector<float>& own_part = operation.parts[own.rank];
  for (std::size_t i = 0; i < count; ++i) own_part.push_back(load(buffer[i]));
  all.changed.notify_all();
  all.changed.wait(lock,
                   [&] { return own.aborted || std::ssize(operation.parts) == own.world->ranks; });
  if (own.aborted) return;
  for (const auto& [rank, part] : operation.parts) {
    if (part.size() != count) all.violations.push_back("buckets in another order");
  }
  constexpr float kOfNoUse = 1e30F;
  if (call.kind == Call::Kind::Broadcast) {
    for (std::size_t i = 0; i < count; ++i) store(buffer[i], operation.parts.at(call.root).at(i));
    return;
  }
  const bool is_root = call.root < 0 || own.rank == call.root;
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (const auto& [rank, part] : operation.parts) sum += i < part.size() ? part[i] : 0;
    store(buffer[i], is_root ? sum : kOfNoUse);
  }
}

/// Puts the calls into their stream only after some state queries. Called under the lock.
inline void issue_later(Communicator& own, std::vector<Call> calls) {
  own.state = ncclInProgress;
  own.looks = 0;
  ++own.operations;
  own.issue = [&own, calls = std::move(calls)] {
    for (const Call& call : calls) {
      Stream::of(call.stream).submit_of(own.graphs, [&own, call] {
        if (call.type == ncclFloat32) return exchange<float>(own, call);
        exchange<Bf16>(own, call);
      });
    }
  };
  library().changed.notify_all();
}

/// Accepts a call and returns at once.
inline ncclResult_t call(const void* from, const Call& asked, ncclComm_t handle) {
  Library& all = library();
  const std::scoped_lock lock(all.mutex);
  Communicator& own = all.of(handle);
  const bool is_known = asked.type == ncclFloat32 || asked.type == ncclBfloat16;
  if (from != asked.buffer || !is_known) all.violations.push_back("not in place, or no float");
  if (own.state == ncclInProgress) all.violations.push_back("a call while one is under way");
  if (asked.kind == Call::Kind::AllReduce && !own.registered.contains(asked.buffer)) {
    all.violations.push_back("a buffer that is not registered");
  }
  if (own.state != ncclSuccess) return own.state;
  if (here().group_depth == 0) {
    issue_later(own, {asked});
    return ncclInProgress;
  }
  here().calls_of = &own;
  own.grouped.push_back(asked);
  return ncclSuccess;
}

inline void note_sum(ncclRedOp_t op) {
  if (op == ncclSum) return;
  const std::scoped_lock lock(library().mutex);
  library().violations.push_back("not a sum");
}

inline ncclResult_t state_of(ncclComm_t handle, ncclResult_t* state) {
  constexpr int kLooks = 3;
  Library& all = library();
  const std::scoped_lock lock(all.mutex);
  Communicator& own = all.of(handle);
  if (own.issue && own.state == ncclInProgress && ++own.looks == kLooks) {
    std::exchange(own.issue, {})();
    own.state = ncclSuccess;
  }
  *state = own.state;
  return ncclSuccess;
}

}  // namespace regatta::nccl_double
