// SPDX-License-Identifier: Apache-2.0
//
// Tests the start messages of ranks on two hosts, one of them a server.
#include "harness/ranks/joined_ranks.h"

#include <gtest/gtest.h>

namespace regatta::ranks {
namespace {

control::Join join_of(const std::string& address, int cores) {
  control::Join join;
  join.set_exchange_address(address);
  join.set_cores(cores);
  return join;
}

JoinedRanks four_on_two_hosts() {
  JoinedRanks ranks({}, {0, 2, 1, 3});
  ranks.take(0, "a", join_of("a:1", 4));
  ranks.take(1, "a", join_of("a:2", 4));
  ranks.take(2, "b", join_of("b:1", 0));  // a rank that does not know its cores
  ranks.take(3, "a", join_of("a:3", 4));
  return ranks;
}

TEST(JoinedRanks, AreToldWhereTheOthersListenAndWhoIsBeforeThemOnTheirHost) {
  const std::vector<control::Start> starts = four_on_two_hosts().starts();
  const control::Start& last = starts.at(3);
  ASSERT_EQ(last.exchange_addresses_size(), 4);
  EXPECT_EQ(last.exchange_addresses(2), "b:1");
  EXPECT_EQ(last.first_worker(), 2);
  EXPECT_EQ(last.workers_on_host(), 5);
  EXPECT_EQ(last.process_on_host(), 1);  // the server computes nothing
  EXPECT_EQ(starts.at(1).process_on_host(), 0);
  EXPECT_EQ(starts.at(2).process_on_host(), 0);
  EXPECT_EQ(starts.at(2).first_worker(), 0);
  EXPECT_EQ(starts.at(2).workers_on_host(), 1);
}

TEST(JoinedRanks, AreToldNoAddressesOfThoseAfterTheLastThatServes) {
  JoinedRanks ranks({}, {0, 1, 1, 1});
  ranks.take(0, "a", join_of("a:1", 1));
  for (int worker = 1; worker < 4; ++worker) ranks.take(worker, "a", join_of("", 1));
  for (const control::Start& start : ranks.starts()) EXPECT_EQ(start.exchange_addresses_size(), 1);
}

TEST(JoinedRanks, AddUpByHost) {
  const std::vector<plan::HostCores> hosts = four_on_two_hosts().hosts();
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[0].workers, 5);
  EXPECT_EQ(hosts[0].cores, 4);
  EXPECT_EQ(hosts[1].workers, 1);
  EXPECT_EQ(hosts[1].cores, 1);
  EXPECT_EQ(hosts[0].most_on_a_gpu, 0);
}

control::Ready ready_on(const std::string& gpu) {
  control::Ready ready;
  ready.set_gpu(gpu);
  return ready;
}

TEST(JoinedRanks, AreOnOneGpuOnlyWhereTheirHostIsTheSame) {
  JoinedRanks ranks({}, {1, 2, 3});
  ranks.take(0, "a", join_of("", 4));
  ranks.take(1, "a", join_of("", 4));
  ranks.take(2, "b", join_of("", 4));
  ranks.take(0, ready_on("0000:01:00.0"));
  ranks.take(1, ready_on("0000:02:00.0"));
  ranks.take(2, ready_on("0000:01:00.0"));
  EXPECT_EQ(ranks.hosts()[0].most_on_a_gpu, 2);
  EXPECT_EQ(ranks.hosts()[0].gpus, 2);
  EXPECT_EQ(ranks.hosts()[1].most_on_a_gpu, 3);
  EXPECT_EQ(ranks.hosts()[1].gpus, 1);
  ranks.take(1, ready_on("0000:01:00.0"));
  EXPECT_EQ(ranks.hosts()[0].most_on_a_gpu, 3);
  EXPECT_EQ(ranks.hosts()[0].gpus, 1);
}

}  // namespace
}  // namespace regatta::ranks
