// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/loop_failures.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"

namespace regatta {
namespace {

/// The message of a PeerLost error; empty for any other error.
std::string loss_in(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const RunError& known) {
    return known.kind() == ErrorKind::PeerLost ? known.what() : "";
  } catch (...) {
    return "";
  }
}

}  // namespace

LoopFailures::LoopFailures(int loops, OnLoss on_loss, std::function<std::string(int)> retire,
                           std::function<void(int)> abandon)
    : flags_(static_cast<std::size_t>(loops)),
      on_loss_(on_loss),
      retire_(std::move(retire)),
      abandon_(std::move(abandon)) {}

void LoopFailures::end(int loop) {
  flags_[static_cast<std::size_t>(loop)].raised = true;
  abandon_(loop);
}

std::exception_ptr LoopFailures::end_of_run(int loop, const std::exception_ptr& error) {
  end(loop);
  std::exception_ptr reason = error;
  const std::string loss = loss_in(error);
  if (on_loss_ == OnLoss::Continue && !loss.empty()) {
    const std::lock_guard lock(mutex_);
    if (std::find(retired_.begin(), retired_.end(), loop) != retired_.end()) return nullptr;
    retired_.push_back(loop);
    lost_.push_back(loss);
    const std::string too_few = retire_(loop);
    if (too_few.empty() && retired_.size() < flags_.size()) return nullptr;
    if (!too_few.empty()) {
      reason = std::make_exception_ptr(RunError(ErrorKind::PeerLost, loss + "; " + too_few));
    }
  }
  end_all();
  return reason;
}

void LoopFailures::end_all() {
  for (int loop = 0; loop < static_cast<int>(flags_.size()); ++loop) end(loop);
}

}  // namespace regatta
