// SPDX-License-Identifier: Apache-2.0
//
// Assigns the run's cores to the workers of a plan, the places with Role::Worker. Workers are
// numbered in the order of their places. Worker i gets the i-th group of threads_per_worker cores;
// the groups wrap around if the run has fewer cores than the workers need.
#pragma once

#include <vector>

#include "kernels/runtime/plan.h"

namespace regatta {

/// Returns the number of threads that a place computes with. A place at which a replica's loop
/// visits a peer (Role::Peer) has one, because there is little to compute.
inline int threads_at(const Place& place, int threads_per_worker) {
  return place.role == Role::Peer ? 1 : threads_per_worker;
}

/// Checks that OpenMP grants the calling thread a team of `threads`; kernels would wait for missing
/// threads for ever. Throws: RunError(Unsupported).
void require_team(int threads);

class WorkerCores {
 public:
  /// `cores` are the cores that the run may use; if empty, threads are not pinned.
  WorkerCores(const Plan& plan, std::vector<int> cores, int threads_per_worker);

  /// Returns the index of the place's worker; -1 if the place is not a worker.
  int worker_of(const Place& place) const;
  /// Returns the cores of the place's worker; all cores of the run if it is not a worker.
  std::vector<int> cores_of(const Place& place) const;
  /// Returns the number of OpenMP threads of a lane: one for a communication lane.
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
