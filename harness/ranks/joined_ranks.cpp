// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/joined_ranks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/plan/fingerprint.h"

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

void JoinedRanks::take(int rank, const control::Ready& ready) {
  ranks_.at(static_cast<std::size_t>(rank)).gpu = ready.gpu();
}

control::Start JoinedRanks::start_of(int rank) const {
  control::Start start;
  int before = 0;
  int on_host = 0;
  int processes_before = 0;
  for (int r = 0; r < static_cast<int>(ranks_.size()); ++r) {
    start.add_exchange_addresses(at(r).exchange_address);
    if (at(r).host != at(rank).host) continue;
    on_host += at(r).workers;
    if (r >= rank || at(r).workers == 0) continue;
    before += at(r).workers;
    ++processes_before;
  }
  start.set_first_worker(before);
  start.set_workers_on_host(on_host);
  start.set_process_on_host(processes_before);
  return start;
}

std::vector<HostCores> JoinedRanks::hosts() const {
  std::map<std::string, HostCores> by_name;
  std::map<std::pair<std::string, std::string>, int> workers_on;  // by host and GPU
  for (const Rank& rank : ranks_) {
    HostCores& host = by_name[rank.host];
    host.workers += rank.workers;
    host.cores = std::max(host.cores, rank.cores);
    if (rank.gpu.empty()) continue;
    if (!workers_on.contains({rank.host, rank.gpu})) ++host.gpus;
    const int on_its_gpu = workers_on[{rank.host, rank.gpu}] += rank.workers;
    host.most_on_a_gpu = std::max(host.most_on_a_gpu, on_its_gpu);
  }
  std::vector<HostCores> all;
  for (const auto& [name, host] : by_name) all.push_back(host);
  return all;
}

}  // namespace regatta
