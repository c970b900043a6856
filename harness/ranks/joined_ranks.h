// SPDX-License-Identifier: Apache-2.0
//
// Collects the facts that ranks send when they join a run: fingerprint, address, cores and GPU.
// Derives each rank's difference from the coordinator, its start message and the cores of each
// host.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/ranks/control_messages.h"
#include "harness/run/trainer.h"

namespace regatta::ranks {

class JoinedRanks {
 public:
  /// `expected` is the coordinator's fingerprint; `workers[r]` is the number of workers on rank r.
  JoinedRanks(plan::Fingerprint expected, std::vector<int> workers);

  void take(int rank, const std::string& host, const control::Join& join);
  void take(int rank, const control::Ready& ready);

  // The calls below are valid after all ranks have joined.

  /// The differences between the fingerprints of coordinator and rank, each with both values; empty
  /// if the fingerprints agree.
  const std::string& difference_of(int rank) const { return at(rank).difference; }
  /// The start messages, ordered by rank.
  std::vector<control::Start> starts() const;
  /// The workers, cores and GPUs of each host. GPUs are complete once all ranks are ready.
  std::vector<plan::HostCores> hosts() const;

 private:
  struct Rank {
    int workers = 0;
    int cores = 1;
    std::string host;
    std::string gpu;  ///< the GPU it computes on; empty: none
    std::string exchange_address;
    std::string difference;
  };
  const Rank& at(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)); }

  plan::Fingerprint expected_;
  std::vector<Rank> ranks_;
};

}  // namespace regatta::ranks
