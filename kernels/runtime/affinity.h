// SPDX-License-Identifier: Apache-2.0
//
// Which cores a thread runs on. Threads that it starts inherit them: so whatever a kernel starts
// stays inside the cores that its run owns.
#pragma once

#include <sched.h>

#include <vector>

namespace regatta {

/// Threads: pins the calling one. No cores: leaves it as it is.
void pin_thread(const std::vector<int>& cores);

/// Pins the calling thread until the scope ends.
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
