// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loop_failures.h"

#include <algorithm>
#include <utility>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

/// The words of a PeerLost; empty for any other error.
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

LoopFailures::LoopFailures(int loops, OnLoss on_loss, std::function<void(int)> retire,
                           std::function<void(int)> abandon)
    : flags_(static_cast<std::size_t>(loops)),
      on_loss_(on_loss),
      retire_(std::move(retire)),
      abandon_(std::move(abandon)) {}

void LoopFailures::end(int loop) {
  flags_[static_cast<std::size_t>(loop)].raised = true;
  abandon_(loop);
}

bool LoopFailures::ends_the_run(int loop, const std::exception_ptr& error) {
  end(loop);
  const std::string loss = loss_in(error);
  if (on_loss_ == OnLoss::Continue && !loss.empty()) {
    const std::lock_guard lock(mutex_);
    if (std::find(retired_.begin(), retired_.end(), loop) != retired_.end()) return false;
    retired_.push_back(loop);
    lost_.push_back(loss);
    retire_(loop);
    if (retired_.size() < flags_.size()) return false;
  }
  end_all();
  return true;
}

void LoopFailures::end_all() {
  for (int loop = 0; loop < static_cast<int>(flags_.size()); ++loop) end(loop);
}

}  // namespace regatta
