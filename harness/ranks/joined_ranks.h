// SPDX-License-Identifier: Apache-2.0
//
// What ranks have said when they joined a run: how they differ from the coordinator, where each
// listens and what its host has; and what each is told to start with.
#pragma once

#include <string>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/ranks/control_messages.h"
#include "harness/run/trainer.h"

namespace regatta {

class JoinedRanks {
 public:
  /// `workers`: by rank.
  JoinedRanks(Fingerprint expected, std::vector<int> workers);

  void take(int rank, const std::string& host, const control::Join& join);
  void take(int rank, const control::Ready& ready);

  // After all have joined.

  /// Both sides; empty where the rank runs what the coordinator does.
  const std::string& difference_of(int rank) const { return at(rank).difference; }
  control::Start start_of(int rank) const;
  /// Once all are ready it is known who shares a GPU.
  std::vector<HostCores> hosts() const;

 private:
  struct Rank {
    int workers = 0;
    int cores = 1;
    std::string host;
    std::string gpu;  ///< that it computes on; empty: none
    std::string exchange_address;
    std::string difference;
  };
  const Rank& at(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)); }

  Fingerprint expected_;
  std::vector<Rank> ranks_;
};

}  // namespace regatta
