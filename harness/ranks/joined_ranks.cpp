// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/joined_ranks.h"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/plan/fingerprint.h"

namespace regatta::ranks {

JoinedRanks::JoinedRanks(plan::Fingerprint expected, std::vector<int> workers)
    : expected_(std::move(expected)) {
  for (int count : workers) ranks_.push_back({.workers = count});
}

void JoinedRanks::take(int rank, const std::string& host, const control::Join& join) {
  Rank& joined = ranks_.at(static_cast<std::size_t>(rank));
  joined.host = host;
  joined.cores = std::max(1, join.cores());
  joined.exchange_address = join.exchange_address();
  joined.difference = plan::difference(expected_, fingerprint_in(join));
}

void JoinedRanks::take(int rank, const control::Ready& ready) {
  ranks_.at(static_cast<std::size_t>(rank)).gpu = ready.gpu();
}

/// Works in two passes. Addresses end with the last rank that serves, because workers, which may be
/// many, serve nowhere.
std::vector<control::Start> JoinedRanks::starts() const {
  struct Host {
    int workers = 0;
    int workers_before = 0;
    int processes_before = 0;
  };
  std::map<std::string, Host> hosts;
  std::size_t serving = 0;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    hosts[ranks_[r].host].workers += ranks_[r].workers;
    if (!ranks_[r].exchange_address.empty()) serving = r + 1;
  }
  control::Start addresses;
  for (std::size_t r = 0; r < serving; ++r) {
    addresses.add_exchange_addresses(ranks_[r].exchange_address);
  }
  std::vector<control::Start> starts(ranks_.size(), addresses);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    Host& host = hosts[ranks_[r].host];
    starts[r].set_first_worker(host.workers_before);
    starts[r].set_workers_on_host(host.workers);
    starts[r].set_process_on_host(host.processes_before);
    host.workers_before += ranks_[r].workers;
    if (ranks_[r].workers > 0) ++host.processes_before;
  }
  return starts;
}

std::vector<plan::HostCores> JoinedRanks::hosts() const {
  std::map<std::string, plan::HostCores> by_name;
  std::map<std::pair<std::string, std::string>, int> workers_on;  // by host and GPU
  for (const Rank& rank : ranks_) {
    plan::HostCores& host = by_name[rank.host];
    host.workers += rank.workers;
    host.cores = std::max(host.cores, rank.cores);
    if (rank.gpu.empty()) continue;
    if (!workers_on.contains({rank.host, rank.gpu})) ++host.gpus;
    const int on_its_gpu = workers_on[{rank.host, rank.gpu}] += rank.workers;
    host.most_on_a_gpu = std::max(host.most_on_a_gpu, on_its_gpu);
  }
  std::vector<plan::HostCores> all;
  for (const auto& [name, host] : by_name) all.push_back(host);
  return all;
}

}  // namespace regatta::ranks
