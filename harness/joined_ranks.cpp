// SPDX-License-Identifier: Apache-2.0
#include "harness/joined_ranks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/fingerprint.h"

namespace regatta {

JoinedRanks::JoinedRanks(Fingerprint expected, std::vector<int> workers)
    : expected_(std::move(expected)) {
  for (int count : workers) ranks_.push_back({.workers = count});
}

void JoinedRanks::take(int rank, const std::string& host, const control::Join& join) {
  Rank& joined = ranks_.at(static_cast<std::size_t>(rank));
  joined.host = host;
  joined.cores = std::max(1, join.cores());
  joined.exchange_address = join.exchange_address();
  joined.difference = difference(expected_, fingerprint_in(join));
}

control::Start JoinedRanks::start_of(int rank) const {
  control::Start start;
  int before = 0;
  int on_host = 0;
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
    start.add_exchange_addresses(at(r).exchange_address);
    if (at(r).host != at(rank).host) continue;
    if (r < rank) before += at(r).workers;
    on_host += at(r).workers;
  }
  start.set_first_worker(before);
  start.set_workers_on_host(on_host);
  return start;
}

std::vector<HostCores> JoinedRanks::hosts() const {
  std::map<std::string, HostCores> by_name;
  for (const Rank& rank : ranks_) {
    HostCores& host = by_name[rank.host];
    host.workers += rank.workers;
    host.cores = std::max(host.cores, rank.cores);
  }
  std::vector<HostCores> all;
  for (const auto& [name, host] : by_name) all.push_back(host);
  return all;
}

}  // namespace regatta
