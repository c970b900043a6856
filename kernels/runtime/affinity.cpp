// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/affinity.h"

#include <omp.h>
#include <pthread.h>

#include <cstddef>
#include <iterator>

namespace regatta {

void pin_thread(const std::vector<int>& cores) {
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void adopt_team(int threads, const std::vector<int>& cores) {
  omp_set_num_threads(threads);
  pin_thread(cores);
  if (threads == 1 || std::ssize(cores) != threads) return;
#pragma omp parallel num_threads(threads)
  pin_thread({cores[static_cast<std::size_t>(omp_get_thread_num())]});
}

PinnedScope::PinnedScope(const std::vector<int>& cores) {
  pthread_getaffinity_np(pthread_self(), sizeof before_, &before_);
  pin_thread(cores);
}

PinnedScope::~PinnedScope() { pthread_setaffinity_np(pthread_self(), sizeof before_, &before_); }

}  // namespace regatta
