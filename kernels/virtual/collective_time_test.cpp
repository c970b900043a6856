// SPDX-License-Identifier: Apache-2.0
//
// Times of collectives, compared with the sums of their messages' times.
#include "kernels/virtual/collective_time.h"

#include <gtest/gtest.h>

#include <numeric>

namespace regatta::virtual_time {
namespace {

constexpr double kMessageNs = 1'000;
constexpr double kBytesPerNs = 2;
constexpr std::int64_t kMembers = 4;
constexpr double kBytes = 4 * 4096;

/// The time among kMembers, each on a host of its own; with one process, all in it.
double ns_of(std::string_view algorithm, int processes) {
  Cluster cluster;
  cluster.hosts.resize(static_cast<std::size_t>(processes));
  const Way way{.message_ns = kMessageNs, .bytes_per_ns = kBytesPerNs};
  cluster.transports.in_process.on_host = way;
  cluster.transports.open_mpi.between_hosts = way;
  std::vector<std::int64_t> part_of(kMembers);
  std::iota(part_of.begin(), part_of.end(), 0);
  if (processes == 1) part_of.clear();
  std::vector<int> host_of(static_cast<std::size_t>(processes));
  std::iota(host_of.begin(), host_of.end(), 0);
  return collective_ns(
      {.algorithm = algorithm, .members = kMembers, .elements = 4096, .part_of = part_of}, cluster,
      host_of);
}

double messages_ns(double count, double bytes) {
  return count * (kMessageNs + bytes / kBytesPerNs);
}

TEST(CollectiveTime, IsThatOfTheMessagesBehindEachOther) {
  for (const int processes : {1, static_cast<int>(kMembers)}) {
    EXPECT_DOUBLE_EQ(ns_of(kRing, processes), messages_ns(6, kBytes / 4));
    EXPECT_DOUBLE_EQ(ns_of(kReduceToOne, processes), messages_ns(2, kBytes));
    EXPECT_DOUBLE_EQ(ns_of(kTorus, processes),
                     messages_ns(2, kBytes / 2) + messages_ns(2, kBytes / 4));
    EXPECT_DOUBLE_EQ(ns_of(kDoubleTree, processes), messages_ns(4, kBytes / 2));
  }
}

TEST(CollectiveTime, HasWhatIsAddedUp) {
  Cluster cluster;
  cluster.hosts.push_back({.cores = static_cast<int>(kMembers)});
  cluster.transports.in_process.adding_bytes_per_ns = 0.5;
  const auto ns = [&](std::string_view algorithm) {
    return collective_ns({.algorithm = algorithm, .members = kMembers, .elements = 4096}, cluster,
                         {0});
  };
  EXPECT_DOUBLE_EQ(ns(kReduceToOne), 3 * kBytes / 0.5);  // one member adds all others
  EXPECT_DOUBLE_EQ(ns(kRing), 3 * kBytes / 4 / 0.5);
}

TEST(CollectiveTime, OfOneMemberIsNone) {
  EXPECT_EQ(
      collective_ns({.algorithm = kRing, .elements = 4096}, {.hosts = {{.name = "one"}}}, {0}), 0);
}

}  // namespace
}  // namespace regatta::virtual_time
