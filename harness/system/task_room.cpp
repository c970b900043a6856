// SPDX-License-Identifier: Apache-2.0
#include "harness/system/task_room.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <vector>

#include "kernels/base/error.h"

namespace regatta::system {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;    ///< enough for a sanitizer's thread that waits
constexpr std::int64_t kBytesOfThread = 64 << 20;  ///< reserved by malloc for a thread

/// Waits for the mutex that the starting thread holds.
void* wait(void* mutex) {
  pthread_mutex_lock(static_cast<pthread_mutex_t*>(mutex));
  pthread_mutex_unlock(static_cast<pthread_mutex_t*>(mutex));
  return nullptr;
}

/// The number of these threads that can exist at once, up to `wanted`.
int startable(int wanted) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, kStackBytes);
  std::vector<pthread_t> threads;
  for (pthread_t thread{}; static_cast<int>(threads.size()) < wanted; threads.push_back(thread)) {
    if (pthread_create(&thread, &small, wait, &mutex) != 0) break;
  }
  pthread_attr_destroy(&small);
  pthread_mutex_unlock(&mutex);
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  return static_cast<int>(threads.size());
}

void require_addresses_for(int threads) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto left = static_cast<std::int64_t>(limit.rlim_cur) - pages * sysconf(_SC_PAGESIZE);
  if (left >= threads * kBytesOfThread) return;
  throw RunError(
      ErrorKind::Usage,
      fmt::format("ulimit -v leaves a process {} MB of memory, and its {} threads reserve "
                  "{}; fix: ulimit -v unlimited, or fewer --workers",
                  left >> 20, threads, threads * kBytesOfThread >> 20));
}

}  // namespace

void require_room_for(const TaskNeed& need) {
  require_addresses_for(need.in_a_process);
  const int found = startable(need.all);
  if (found == need.all) return;
  throw RunError(
      ErrorKind::Usage,
      fmt::format("this run needs about {} threads, and the system grants {}; fix: raise "
                  "pids.max of the control group (docker --pids-limit) or ulimit -u, or "
                  "fewer --workers",
                  need.all, found));
}

}  // namespace regatta::system
