// SPDX-License-Identifier: Apache-2.0
//
// That the worker of a loop is lost, as one process of the loop knows it. Where others go on
// without the worker, its servers end the step that they are at: messages from and to it note its
// absence and are left out, its push counts nowhere, and the loop ends with the step. So no server
// stops between what it has told another and what it has to do itself. Threads: any.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

namespace regatta {

class Absence {
 public:
  /// The first reason is kept.
  void note(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (noted_) return;
    reason_ = reason;
    noted_ = true;
  }
  bool noted() const { return noted_; }
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

 private:
  mutable std::mutex mutex_;
  std::string reason_;
  std::atomic<bool> noted_{false};
};

}  // namespace regatta
