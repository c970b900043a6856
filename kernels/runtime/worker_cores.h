// SPDX-License-Identifier: Apache-2.0
//
// The workers of a plan and the cores of each. A worker is a place that computes; workers are
// numbered in the order of places. Worker i has the i-th share of the run's cores, and shares wrap
// around where there are more workers than cores.
#pragma once

#include <vector>

#include "kernels/runtime/plan.h"

namespace regatta {

/// The number of threads that a place computes with. A replica's loop at a peer has one, because it
/// has little to do there beside the peer's own loop.
inline int threads_at(const Place& place, int threads_per_worker) {
  return place.role == Role::Peer ? 1 : threads_per_worker;
}

class WorkerCores {
 public:
  /// `cores`: the run's; empty: no pinning.
  WorkerCores(const Plan& plan, std::vector<int> cores, int threads_per_worker);

  /// The worker of a place, or -1.
  int worker_of(const Place& place) const;
  /// A worker's share of the cores; all of them for other places.
  std::vector<int> cores_of(const Place& place) const;
  /// The number of OpenMP threads of a lane: one if it communicates.
  int threads_of(const LanePlan& lane) const {
    return lane.communication ? 1 : threads_at(lane.place, threads_per_worker_);
  }
  /// Whether compute threads outnumber cores; a spinning thread then keeps another from its core.
  bool oversubscribed() const { return oversubscribed_; }

 private:
  std::vector<Place> workers_;
  std::vector<int> cores_;
  int threads_per_worker_;
  bool oversubscribed_ = false;
};

}  // namespace regatta
