// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/affinity.h"

#include <pthread.h>

namespace regatta {

void pin_thread(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

PinnedScope::PinnedScope(const std::vector<int>& cores) {
  pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
  pin_thread(cores);
}

PinnedScope::~PinnedScope() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }

}  // namespace regatta
