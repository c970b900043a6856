// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/devices.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <vector>

#include "kernels/base/error_for_test.h"
#include "kernels/virtual/simulation_for_test.h"

namespace regatta::virtual_time {
namespace {

using testing_support::parts_of;
using testing_support::VirtualCase;

Level level(double bytes_per_ns, double hop_ns) {
  return {.name = "links",
          .bytes_per_ns = bytes_per_ns,
          .base_ns = 8000,
          .hop_ns = hop_ns,
          .tree_share = 0.9,
          .message_ns = 12'000,
          .message_bytes_per_ns = bytes_per_ns,
          .groups = {}};
}

Devices devices() {
  Devices made;
  made.profile = {.name = "made up",
                  .flop_per_ns = {{ElementType::F32, 20e3}},
                  .product_shares = {{.size = 1e9, .share = 0.5}, {.size = 1e11, .share = 0.8}},
                  .bytes_per_ns = 2000,
                  .memory_shares = {{.size = 1e6, .share = 0.5}, {.size = 1e8, .share = 0.9}},
                  .launch_ns = 4000,
                  .flash_forward_share = 0.5,
                  .flash_backward_share = 0.4,
                  .unfused_share = 0.5};
  made.inside = level(300, 3000);
  made.between = level(25, 14'000);
  made.per_host = 4;
  made.cards = 4;
  return made;
}

/// Hosts of `n` members that fill hosts of `k` devices.
std::vector<int> dealt(int n, int k) {
  std::vector<int> hosts(static_cast<std::size_t>(n));
  for (int m = 0; m < n; ++m) hosts[static_cast<std::size_t>(m)] = m / k;
  return hosts;
}

/// The step time of `test` on hosts of four devices, one worker on each device.
double step_ns(const Devices& made, const VirtualCase& test) {
  const std::vector<Step> parts = parts_of(test);
  Cluster cluster = testing_support::cluster_of(parts.size(), kNoLimit, 0);
  cluster.devices = made;
  cluster.transports.open_mpi.on_host = {.message_ns = made.inside.message_ns,
                                         .bytes_per_ns = made.inside.message_bytes_per_ns};
  cluster.transports.open_mpi.between_hosts = {.message_ns = made.between.message_ns,
                                               .bytes_per_ns = made.between.message_bytes_per_ns};
  SimulationOptions options;
  options.host_of = dealt(static_cast<int>(parts.size()), made.per_host);
  const Program program =
      make_program(parts, {}, 1, {.devices = &made, .host_of = options.host_of});
  Simulation simulation(program, cluster, options);
  simulation.advance_to(2 * program.global_batch);
  return simulation.loops().front().step_ns.back();
}

const VirtualCase kReplicas{.workload = "gpt_tiny", .strategy = "all_reduce", .workers = 6};
const VirtualCase kShares{.workload = "gpt_tiny",
                          .strategy = "sharded",
                          .workers = 6,
                          .options = {{"shard", std::string("parameters")}}};

TEST(Devices, CollectivesTakeAShareOfTheKernelsBesideThem) {
  Devices made = devices();
  const double usual = step_ns(made, kShares);
  made.profile.collective_share = 0.4;
  const double slower = step_ns(made, kShares);
  EXPECT_GT(slower, usual);
  made.communication = Communication::Blocking;
  const double blocking = step_ns(made, kShares);
  EXPECT_GT(blocking, slower);
  made.profile.collective_share = 0;
  EXPECT_EQ(step_ns(made, kShares), blocking);
}

TEST(Devices, SharesBetweenSizesAreLinearInTheLogarithm) {
  const std::vector<ShareAt> points{{.size = 10, .share = 0.4}, {.size = 1000, .share = 0.8}};
  EXPECT_DOUBLE_EQ(share_at(points, 1), 0.4);
  EXPECT_DOUBLE_EQ(share_at(points, 100), 0.6);
  EXPECT_DOUBLE_EQ(share_at(points, 1e6), 0.8);
  EXPECT_TRUE(is_monotone(points));
  EXPECT_FALSE(
      is_monotone(std::vector<ShareAt>{{.size = 10, .share = 0.1}, {.size = 11, .share = 0.9}}));
}

TEST(Devices, OneLevelOfANetworkIsTheFlatModel) {
  Devices flat = devices(), one_host = devices();
  flat.per_host = flat.cards = 1;
  flat.between = one_host.inside;
  for (const int n : {2, 3, 8}) {
    one_host.per_host = n;
    for (const double bytes : {4e3, 4e6, 4e9}) {
      for (const Op op : {Op::ReduceScatter, Op::AllGather}) {
        EXPECT_DOUBLE_EQ(flat.collective_ns(op, bytes, dealt(n, 1)),
                         one_host.collective_ns(op, bytes, dealt(n, n)));
      }
    }
    // only hosts form trees, which are slower than a ring for many bytes
    EXPECT_DOUBLE_EQ(flat.collective_ns(Op::AllReduce, 4e9, dealt(n, 1)),
                     one_host.collective_ns(Op::AllReduce, 4e9, dealt(n, n)));
  }
}

TEST(Devices, CollectivesHaveTheTimesOfTheirFormulas) {
  const Devices made = devices();
  // a ring in one host: base, 2 (k - 1) hops, 2 (k - 1) / k of the bytes
  EXPECT_DOUBLE_EQ(made.collective_ns(Op::AllReduce, 3e8, dealt(4, 4)),
                   8000 + 6 * 3000 + 1.5 * 3e8 / 300);
  // two hosts of four: the cards of a host together, and the hops of both hosts and between them
  EXPECT_DOUBLE_EQ(made.collective_ns(Op::AllReduce, 8e9, dealt(8, 4)),
                   8000 + 2 * 6 * 3000 + 2 * 14'000 + 2 * 7.0 / 8 * 8e9 / 100);
  // one member a host has one card of four
  EXPECT_DOUBLE_EQ(made.collective_ns(Op::AllGather, 8e9, dealt(2, 1)),
                   8000 + 14'000 + 0.5 * 8e9 / 25);
  // many hosts and few bytes: the tree's hops grow with the logarithm
  EXPECT_DOUBLE_EQ(made.collective_ns(Op::AllReduce, 0, dealt(256, 1)), 8000 + 2 * 8 * 14'000);
}

TEST(Devices, AFatTreeHasLessBandwidthAboveItsSwitches) {
  Devices made = devices();
  made.oversubscription = 4;
  made.hosts_per_switch = 2;
  EXPECT_DOUBLE_EQ(made.between_bytes_per_ns(4, 2), 100);
  EXPECT_DOUBLE_EQ(made.between_bytes_per_ns(4, 3), 25);
  EXPECT_DOUBLE_EQ(made.between_bytes_per_ns(1, 3), 6.25);
}

TEST(Devices, NothingIsFasterWithLess) {
  using Change = std::function<void(Devices&)>;
  const std::vector<Change> worse{
      [](Devices& d) { d.profile.flop_per_ns[ElementType::F32] /= 4; },
      [](Devices& d) { d.profile.bytes_per_ns /= 4; },
      [](Devices& d) { d.profile.launch_ns *= 2; },
      [](Devices& d) { d.profile.flash_backward_share /= 10; },
      [](Devices& d) { d.inside.bytes_per_ns /= 1e4; },
      [](Devices& d) { d.between.bytes_per_ns /= 1e3; },
      [](Devices& d) { d.between.hop_ns *= 10; },
      [](Devices& d) { d.inside.groups = {{.members = 4, .hops_ns = 1e6, .bytes_per_ns = 1}}; },
      [](Devices& d) { d.cards = 1, d.between.bytes_per_ns /= 100; },
      [](Devices& d) { d.oversubscription = 1e4; }};
  for (const VirtualCase& test : {kReplicas, kShares}) {
    const double before = step_ns(devices(), test);
    for (std::size_t i = 0; i < worse.size(); ++i) {
      Devices made = devices();
      worse[i](made);
      EXPECT_GE(step_ns(made, test), before) << test.strategy << ", change " << i;
    }
    Devices slow = devices();
    slow.profile.launch_ns *= 2;
    EXPECT_GT(step_ns(slow, test), before);
  }
}

TEST(Devices, MoreBytesAndMembersTakeNoLess) {
  const Devices made = devices();
  for (const Op op : {Op::AllReduce, Op::ReduceScatter, Op::AllGather}) {
    double before = 0;
    for (double bytes = 1; bytes < 1e11; bytes *= 3) {
      const double ns = made.collective_ns(op, bytes, dealt(8, 4));
      EXPECT_GE(ns, before);
      before = ns;
    }
    for (int n = 4; n < 64; n += 4) {
      EXPECT_LE(made.collective_ns(op, 1e8, dealt(n, 4)),
                made.collective_ns(op, 1e8, dealt(n + 4, 4)));
    }
  }
}

TEST(Devices, AProfileWithoutANeededNumberSaysWhich) {
  Devices made = devices();
  made.profile.flop_per_ns.clear();
  EXPECT_EQ(regatta::testing_support::error_of([&] { step_ns(made, kReplicas); }),
            "the profile 'made up' has no tflops_32, which a kernel of this cell needs; fix: add "
            "it to the profile, or change --dtype or `attention`");
}

}  // namespace
}  // namespace regatta::virtual_time
