// SPDX-License-Identifier: Apache-2.0
//
// Pins threads to cores. A new thread inherits the cores of the thread that starts it, so threads
// that a kernel starts stay on the cores of the run.
#pragma once

#include <sched.h>

#include <vector>

namespace regatta {

/// Pins the calling thread to `cores`. Does nothing if the list is empty.
void pin_thread(const std::vector<int>& cores);

/// Gives the calling thread an OpenMP team of `threads` on `cores`. Pins each to a core of its own
/// if there are as many, because threads that begin on one core stay there for some ms.
void adopt_team(int threads, const std::vector<int>& cores);

/// Pins the calling thread to `cores` while the object lives, then restores its previous cores.
class PinnedScope {
 public:
  explicit PinnedScope(const std::vector<int>& cores);
  ~PinnedScope();
  PinnedScope(const PinnedScope&) = delete;
  PinnedScope& operator=(const PinnedScope&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace regatta
