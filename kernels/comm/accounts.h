// SPDX-License-Identifier: Apache-2.0
//
// Accounts of a transport's nodes: bytes, messages and times. Each kernel writes to its own account
// while lanes run; sums by place are made while no lane runs.
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

/// One node's account, written by that node's lane only.
struct Account {
  /// Bytes received from a place that does not count them as sent. Units: bytes.
  struct Taken {
    Place from;
    std::int64_t bytes = 0;
  };

  Place place;
  MemberTraffic traffic{};
  std::vector<Taken> taken{};            ///< by sender
  std::optional<ExchangeTimes> times{};  ///< only for a collective or a push

  /// Counts a message from a sender that does not count its own bytes.
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

  /// Sums by place, like exchange_times(). Not called while lanes run.
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
