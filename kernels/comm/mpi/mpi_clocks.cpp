// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_clocks.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

constexpr std::size_t kMostTrips = 32;
constexpr std::size_t kLeastTrips = 5;
constexpr std::int64_t kEnoughNs = 100'000'000;

/// Tag of clock messages. In a collective it would be that of a message from member 0 to itself
/// (mpi_group.cpp), which does not occur.
constexpr int kTag = 0;

constexpr std::chrono::microseconds kShortestSleep{20};
constexpr std::chrono::microseconds kLongestSleep{2000};

enum Word : std::int64_t { kBegin, kAgain, kLast, kAllDone };

void send(MpiComm all, int to, std::int64_t word) {
  mpi_call(mpi().send(&word, sizeof(word), to, kTag, all), "MPI_Send");
}

std::int64_t receive(MpiComm all, int from) {
  std::int64_t word = 0;
  mpi_call(mpi().recv(&word, sizeof(word), from, kTag, all), "MPI_Recv");
  return word;
}

std::int64_t receive_asleep(MpiComm all, int from) {
  bool came = false;
  for (auto sleep = kShortestSleep;; sleep = std::min(2 * sleep, kLongestSleep)) {
    mpi_call(mpi().iprobe(from, kTag, all, came), "MPI_Iprobe");
    if (came) return receive(all, from);
    std::this_thread::sleep_for(sleep);
  }
}

/// Answers each request of `rank` with the time, until its last one.
void answer(MpiComm all, int rank, const ProcessClock& clock) {
  send(all, rank, kBegin);
  for (bool last = false; !last;) {
    last = receive(all, rank) == kLast;
    send(all, rank, clock.now());
  }
}

std::vector<RoundTrip> ask(MpiComm all, const ProcessClock& clock) {
  std::vector<RoundTrip> trips;
  trips.reserve(kMostTrips);
  receive_asleep(all, 0);
  const std::int64_t begin_ns = now_ns();
  for (bool last = false; !last;) {
    const bool enough = trips.size() + 1 >= kLeastTrips && now_ns() - begin_ns > kEnoughNs;
    last = enough || trips.size() + 1 >= kMostTrips;
    RoundTrip& trip = trips.emplace_back();
    trip.sent_ns = clock.now();
    send(all, 0, last ? kLast : kAgain);
    trip.there_ns = receive(all, 0);
    trip.received_ns = clock.now();
  }
  receive_asleep(all, 0);
  return trips;
}

}  // namespace

ClockComparison compare_with_rank_0(MpiComm all, const ProcessClock& clock) {
  int rank = 0;
  int ranks = 1;
  mpi_call(mpi().comm_rank(all, rank), "MPI_Comm_rank");
  mpi_call(mpi().comm_size(all, ranks), "MPI_Comm_size");
  if (rank != 0) return compare_clocks(ask(all, clock));
  for (int other = 1; other < ranks; ++other) answer(all, other, clock);
  for (int other = 1; other < ranks; ++other) send(all, other, kAllDone);
  return {.own_ns = clock.now()};
}

}  // namespace regatta::comm
