// SPDX-License-Identifier: Apache-2.0
//
// The table of the double's functions, and those that end communicators and register buffers.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "kernels/comm/nccl/nccl_double_for_test.h"

namespace regatta::nccl_double {

/// Records a violation if a graph still holds the communicator: NCCL would never return.
inline void note_graphs(const Communicator& own) {
  if (own.graphs.use_count() > 1) {
    library().violations.push_back("an end of a communicator that a graph holds");
  }
}

inline ncclResult_t abort(ncclComm_t handle) {
  Library& all = library();
  const std::scoped_lock lock(all.mutex);
  Communicator& own = all.of(handle);
  if (own.aborted || own.destroyed) all.violations.push_back("an end of what has ended");
  note_graphs(own);
  own.aborted = true;
  ++all.aborts;
  all.changed.notify_all();
  return ncclSuccess;
}

inline ncclResult_t finalize(ncclComm_t handle) {
  Library& all = library();
  const std::scoped_lock lock(all.mutex);
  Communicator& own = all.of(handle);
  ++all.finalizes;
  own.state = ncclInProgress;
  if (++own.world->closing == own.world->ranks) {
    for (Communicator& each : all.communicators) {
      if (each.world == own.world) each.state = ncclSuccess;
    }
  }
  return ncclInProgress;
}

inline ncclResult_t destroy(ncclComm_t handle) {
  Library& all = library();
  const std::scoped_lock lock(all.mutex);
  Communicator& own = all.of(handle);
  if (own.state != ncclSuccess) all.violations.push_back("destroyed before it was finalized");
  if (!own.registered.empty()) all.violations.push_back("destroyed with registered buffers");
  note_graphs(own);
  own.destroyed = true;
  ++all.destroys;
  return ncclSuccess;
}

inline ncclResult_t register_buffer(ncclComm_t handle, void* buffer, std::size_t,
                                    void** registration) {
  const std::scoped_lock lock(library().mutex);
  Communicator& own = library().of(handle);
  if (own.state != ncclSuccess) library().violations.push_back("registered before it is settled");
  own.registered.insert(buffer);
  *registration = buffer;
  return ncclSuccess;
}

/// Whether separately mapped memory (GpuDouble) is still mapped.
inline bool is_mapped(void* memory) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory) / page * page;
  unsigned char is_resident = 0;
  return mincore(reinterpret_cast<void*>(address), 1, &is_resident) == 0;
}

inline ncclResult_t deregister_buffer(ncclComm_t handle, void* registration) {
  const std::scoped_lock lock(library().mutex);
  const bool was_there = library().of(handle).registered.erase(registration) == 1;
  if (!was_there) library().violations.push_back("deregistered without registration");
  if (!is_mapped(registration)) library().violations.push_back("deregistered when it was freed");
  return ncclSuccess;
}

inline NcclCalls calls() {
  NcclCalls table;
  table.get_version = [](int* version) {
    *version = slot() == nullptr ? kVersion : library().version;
    return ncclSuccess;
  };
  table.get_error_string = [](ncclResult_t result) {
    return result == ncclRemoteError ? "remote process exited" : "some error";
  };
  table.get_last_error = [](ncclComm_t) { return "words of the double"; };
  table.get_unique_id = [](ncclUniqueId* id) {
    const std::scoped_lock lock(library().mutex);
    std::memset(id, 0, sizeof *id);
    id->internal[0] = static_cast<char>(++library().ids);
    return ncclSuccess;
  };
  table.comm_init_rank_config = init;
  table.comm_get_async_error = state_of;
  table.comm_finalize = finalize;
  table.comm_destroy = destroy;
  table.comm_abort = abort;
  table.comm_register = register_buffer;
  table.comm_deregister = deregister_buffer;
  table.group_start = [] {
    ++here().group_depth;
    return ncclSuccess;
  };
  table.group_end = group_end;
  table.all_reduce = [](const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, ncclComm_t handle, cudaStream_t stream) {
    note_sum(op);
    return call(from, {.buffer = to, .count = count, .type = type, .stream = stream}, handle);
  };
  table.reduce = [](const void* from, void* to, std::size_t count, ncclDataType_t type,
                    ncclRedOp_t op, int root, ncclComm_t handle, cudaStream_t stream) {
    note_sum(op);
    return call(from, {Call::Kind::Reduce, to, count, type, root, stream}, handle);
  };
  table.broadcast = [](const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                       ncclComm_t handle, cudaStream_t stream) {
    return call(from, {Call::Kind::Broadcast, to, count, type, root, stream}, handle);
  };
  table.set_device = [](int device) {
    here().device = device;
    return cudaSuccess;
  };
  table.event_create = [](cudaEvent_t* event, unsigned) {
    *event = reinterpret_cast<cudaEvent_t>(new std::atomic<bool>(true));
    return cudaSuccess;
  };
  table.event_destroy = [](cudaEvent_t event) {
    delete reinterpret_cast<std::atomic<bool>*>(event);
    return cudaSuccess;
  };
  table.event_record = [](cudaEvent_t event, cudaStream_t stream) {
    auto* passed = reinterpret_cast<std::atomic<bool>*>(event);
    *passed = false;
    if (Stream::of(stream).is_captured()) {
      const std::scoped_lock lock(library().mutex);
      library().violations.push_back("an event in a capture that is asked for outside");
    }
    Stream::of(stream).submit([passed] { *passed = true; });
    return cudaSuccess;
  };
  table.event_query = [](cudaEvent_t event) {
    return *reinterpret_cast<std::atomic<bool>*>(event) ? cudaSuccess : cudaErrorNotReady;
  };
  return table;
}

}  // namespace regatta::nccl_double
