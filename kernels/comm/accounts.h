// SPDX-License-Identifier: Apache-2.0
//
// Counts of bytes and messages, and times, for each communication node of a transport. Each kernel
// writes to its own account while lanes run; the sums over the nodes of each place are made while
// no lane runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "kernels/comm/exchange_times.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/graph.h"

namespace regatta::comm {

/// The account of one node. Threads: written only from the lane of the node.
struct Account {
  /// Bytes received from a place that does not itself count them as sent.
  struct Taken {
    Place from;
    std::int64_t bytes = 0;
  };

  Place place;
  MemberTraffic traffic{};
  std::vector<Taken> taken{};            ///< entry i is for sender i
  std::optional<ExchangeTimes> times{};  ///< only for a collective or a push

  /// Counts a message of `bytes` bytes from `sender`, an index into `taken`.
  void take(std::size_t sender, std::int64_t bytes) {
    taken[sender].bytes += bytes;
    traffic.received += bytes;
    ++traffic.messages;
  }
};

class Accounts {
 public:
  /// Adds an account; the reference stays valid. Called before the first run.
  Account& open(const Place& place) { return accounts_.emplace_back(Account{.place = place}); }

  /// Returns the traffic of each place; exchange_times() returns the times. Neither is called while
  /// lanes run.
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

}  // namespace regatta::comm
