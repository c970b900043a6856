// SPDX-License-Identifier: Apache-2.0
//
// What the nodes of a transport count: bytes, messages and times. A kernel writes to its own
// account while lanes run; sums by place are made when they rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kernels/comm/exchange_times.h"
#include "kernels/graph/graph.h"
#include "kernels/graph/traffic.h"

namespace regatta {

/// Of one node. Written by the node's lane alone.
struct Account {
  /// What this node has taken from another place, which does not count it. Units: bytes.
  struct Taken {
    Place from;
    std::int64_t bytes = 0;
  };

  Place place;
  MemberTraffic traffic{};
  std::vector<Taken> taken{};            ///< by sender
  std::optional<ExchangeTimes> times{};  ///< of a collective or a push

  /// A message has come from a place that does not count what it sends.
  void take(std::size_t sender, std::int64_t bytes) {
    taken[sender].bytes += bytes;
    traffic.received += bytes;
    ++traffic.messages;
  }
};

class Accounts {
 public:
  /// It stays where it is. Before the first run.
  Account& open(const Place& place) { return accounts_.emplace_back(Account{.place = place}); }

  /// Not while lanes run, as below.
  TrafficByPlace traffic() const {
    TrafficByPlace all;
    for (const Account& account : accounts_) {
      all[account.place] += account.traffic;
      for (const auto& [from, bytes] : account.taken) all[from].sent += bytes;
    }
    return all;
  }
  ExchangeTimesByPlace exchange_times() const {
    ExchangeTimesByPlace all;
    for (const Account& account : accounts_) {
      if (account.times) add(all[account.place], *account.times);
    }
    return all;
  }

 private:
  std::deque<Account> accounts_;
};

}  // namespace regatta
