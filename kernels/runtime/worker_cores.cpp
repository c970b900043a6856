// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/worker_cores.h"

#include <omp.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "kernels/base/error.h"

namespace regatta {

void require_team(int threads) {
  int size = 1;
#pragma omp parallel num_threads(threads)
#pragma omp single
  size = omp_get_num_threads();
  if (size == threads) return;
  const int limit = omp_get_thread_limit();
  const std::string because =
      limit < threads ? " because OMP_THREAD_LIMIT is " + std::to_string(limit) : "";
  throw RunError(ErrorKind::Unsupported, "OpenMP gives a worker " + std::to_string(size) +
                                             " of its " + std::to_string(threads) + " threads" +
                                             because +
                                             "; fix: unset the variables OMP_*, or fewer --cores");
}

WorkerCores::WorkerCores(const Plan& plan, std::vector<int> cores, int threads_per_worker)
    : cores_(std::move(cores)), threads_per_worker_(threads_per_worker) {
  std::set<Place> places;
  int wanted = 0;
  for (const LanePlan& lane : plan.lanes()) {
    if (lane.communication) continue;
    wanted += threads_of(lane);
    if (lane.place.role == Role::Worker) places.insert(lane.place);
  }
  workers_.assign(places.begin(), places.end());
  oversubscribed_ = !cores_.empty() && wanted > std::ssize(cores_);
}

int WorkerCores::worker_of(const Place& place) const {
  const auto found = std::find(workers_.begin(), workers_.end(), place);
  return found == workers_.end() ? -1 : static_cast<int>(found - workers_.begin());
}

std::vector<int> WorkerCores::cores_of(const Place& place) const {
  const int worker = worker_of(place);
  if (worker < 0 || cores_.empty()) return cores_;
  std::vector<int> own;
  for (int t = 0; t < threads_per_worker_; ++t) {
    const auto index = static_cast<std::size_t>(worker * threads_per_worker_ + t);
    own.push_back(cores_[index % cores_.size()]);
  }
  return own;
}

}  // namespace regatta
