// SPDX-License-Identifier: Apache-2.0
//
// sgd, average and read of variables that threads share.
#include <chrono>
#include <span>
#include <thread>

#include "kernels/cpu/reader_for_test.h"
#include "kernels/cpu/shared_update.h"
#include "kernels/cpu/test_support.h"
#include "kernels/cpu/update_for_test.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::cpu::test {
namespace {

/// A parameter and its velocity that several threads update by SGD without momentum.
class SharedSgd {
 public:
  SharedSgd(Sharing sharing, std::int64_t elements)
      : parameter_({ElementType::F32, {elements}}), gradient_(parameter_.type) {
    storage_.tensor = parameter_.tensor();
    velocity_.tensor = gradient_.tensor();  // never accessed: there is no momentum
    storage_.sharing = velocity_.sharing = sharing;
    storage_.counts = &counts_;
    const auto shards = static_cast<std::size_t>((elements - 1) / kShardElements + 1);
    if (sharing == Sharing::Locked) storage_.shards = std::vector<std::mutex>(shards);
    for (std::int64_t i = 0; i < elements; ++i) gradient_.f32()[i] = -1;  // adds the rate, 1
    node_.attributes = {{"momentum", 0.0},
                        {"nesterov", std::int64_t{0}},
                        {"weight_decay", 0.0},
                        {"weight", 1.0},
                        {"schedule_examples", std::vector<double>{0}},
                        {"schedule_values", std::vector<double>{1}}};
  }

  /// One loop's counters after `steps` updates, each from the version that it saw last.
  LaneCounters loop(std::int64_t steps) {
    SeenVersion seen;
    const std::vector<SeenVersion*> versions{&seen, nullptr};
    const std::vector<Tensor> inputs{gradient_.tensor()};
    const std::vector<VariableStorage*> variables{&storage_, &velocity_};
    const auto kernel = cpu_table().build({.node = node_,
                                           .inputs = inputs,
                                           .outputs = {},
                                           .variables = variables,
                                           .versions_seen = versions});
    LaneCounters counters;
    for (std::int64_t step = 0; step < steps; ++step) {
      seen = {.number = version_of(storage_, std::memory_order_acquire), .ticks = ticks()};
      std::this_thread::sleep_for(gradient_time_);
      kernel->run({.step = step, .examples = 0, .counters = &counters});
    }
    return counters;
  }

  void gradients_take(std::chrono::milliseconds time) { gradient_time_ = time; }

  float* parameter() const { return parameter_.f32(); }
  VariableStorage& storage() { return storage_; }
  VersionCounts& counts() { return counts_; }

 private:
  Array parameter_;
  Array gradient_;
  VersionCounts counts_;
  VariableStorage storage_;
  VariableStorage velocity_;
  Node node_{.op = Op::Sgd};
  std::chrono::milliseconds gradient_time_{0};
};

TEST(Sgd, LosesNothingUnderLocks) {
  constexpr std::int64_t kElements = kShardElements + 3, kSteps = 200;
  SharedSgd shared(Sharing::Locked, kElements);
  std::thread other([&] { shared.loop(kSteps); });
  shared.loop(kSteps);
  other.join();
  EXPECT_EQ(shared.counts().version, 2U * kSteps);
  EXPECT_EQ(shared.counts().canary, 2U * kSteps);
  for (std::int64_t i = 0; i < kElements; ++i) {
    ASSERT_EQ(shared.parameter()[i], static_cast<float>(2 * kSteps)) << i;
  }
}

/// Each update adds one to every element, so an element counts its updates. Blocks may be of
/// different versions; the elements of one block may not.
TEST(Read, OfAVariableUnderUpdateMixesNothingInABlockAndHasAllThatItsVersionCounts) {
  constexpr std::size_t kBlock = kShardElements, kBlocks = 3, kPulls = 1000;
  SharedSgd shared(Sharing::Locked, kBlock * kBlocks);
  std::atomic<bool> enough{false};
  const auto update = [&] {
    while (!enough) shared.loop(20);
  };
  std::thread first(update), second(update);
  Reader reader(shared.storage());
  std::size_t mixed = 0, newer = 0, older = 0;
  std::vector<float> before(kBlocks);
  for (std::size_t pull = 0; pull < kPulls || reader.seen() < kPulls; ++pull) {
    reader.run();
    const std::span<const float> copy(reader.copy().f32(), kBlocks * kBlock);
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const std::span<const float> block = copy.subspan(b * kBlock, kBlock);
      mixed += std::count(block.begin(), block.end(), block[0]) != kBlock ? 1U : 0U;
      newer += static_cast<float>(reader.seen()) > block[0] ? 1U : 0U;
      older += block[0] < before[b] ? 1U : 0U;
      before[b] = block[0];
    }
  }
  enough = true;
  first.join();
  second.join();
  EXPECT_EQ(mixed, 0U);
  EXPECT_EQ(newer, 0U) << "the version that is noted is newer than what was read";
  EXPECT_EQ(older, 0U);
}

TEST(Sgd, CountsEveryRelaxedUpdateAndNeverInventsOne) {
  constexpr std::int64_t kElements = 1000, kSteps = 5000;
  SharedSgd shared(Sharing::Relaxed, kElements);
  LaneCounters others;
  std::thread other([&] { others = shared.loop(kSteps); });
  const LaneCounters mine = shared.loop(kSteps);
  other.join();
  EXPECT_EQ(shared.counts().version, 2U * kSteps);
  EXPECT_LE(shared.counts().canary, 2U * kSteps);
  for (std::int64_t i = 0; i < kElements; ++i) {
    // Updates may be lost, but not all of each loop's last ones.
    ASSERT_GT(shared.parameter()[i], 0.0F) << i;
    ASSERT_LE(shared.parameter()[i], static_cast<float>(2 * kSteps)) << i;
  }
  std::uint64_t counted = 0;
  for (std::size_t s = 0; s < mine.staleness.size(); ++s) {
    counted += mine.staleness[s] + others.staleness[s];
  }
  EXPECT_EQ(counted, 2U * kSteps);
}

TEST(Sgd, CountsHowManyVersionsWereMissed) {
  SharedSgd shared(Sharing::Relaxed, 10);
  SeenVersion seen;
  shared.counts().version = 3;
  const LaneCounters fresh = shared.loop(1);
  EXPECT_EQ(fresh.staleness[0], 1U);
  const Array gradient = random_array({10}, 1);
  const std::vector<SeenVersion*> versions{&seen, nullptr};
  const std::vector<Tensor> inputs{gradient.tensor()};
  const std::vector<VariableStorage*> variables{&shared.storage(), &shared.storage()};
  const Node node{.op = Op::Sgd, .attributes = sgd_attributes(0, 0)};
  const auto kernel = cpu_table().build({.node = node,
                                         .inputs = inputs,
                                         .outputs = {},
                                         .variables = variables,
                                         .versions_seen = versions});
  LaneCounters counters;
  kernel->run({.step = 0, .examples = 0, .counters = &counters});  // misses the updates 1 to 4
  EXPECT_EQ(counters.staleness[4], 1U);
  shared.counts().version = 1000;
  kernel->run({.step = 1, .examples = 0, .counters = &counters});
  EXPECT_EQ(counters.staleness[63], 1U);
}

TEST(Sgd, CountsHowOldWhatItWasComputedFromHasBecome) {
  SharedSgd shared(Sharing::Locked, 10);
  shared.gradients_take(std::chrono::milliseconds(20));
  const LaneCounters counters = shared.loop(2);
  EXPECT_EQ(counters.age.count(), 2);
  EXPECT_GE(counters.age.sum(), 2 * 20'000'000);
  EXPECT_LT(counters.age.sum(), 10'000'000'000);  // a busy machine sleeps longer, but not this long
}

/// Two replicas each add one to every element, step by step, while each averages with the other.
TEST(Average, LosesNoUpdateOfEitherReplica) {
  constexpr std::int64_t kElements = kShardElements + 3, kSteps = 200;
  SharedSgd first(Sharing::Locked, kElements), second(Sharing::Locked, kElements);
  const auto average = [&](SharedSgd& own, SharedSgd& other, std::int64_t replica) {
    const Node node{.op = Op::Average, .attributes = {{"replica", replica}}};
    const std::vector<VariableStorage*> variables{&own.storage(), &other.storage()};
    const auto kernel = cpu_table().build(
        {.node = node, .inputs = {}, .outputs = {}, .variables = variables, .versions_seen = {}});
    for (std::int64_t step = 0; step < kSteps; ++step) kernel->run({.step = step});
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { first.loop(kSteps); });
  threads.emplace_back([&] { second.loop(kSteps); });
  threads.emplace_back([&] { average(first, second, 0); });
  threads.emplace_back([&] { average(second, first, 1); });
  for (std::thread& thread : threads) thread.join();
  for (SharedSgd* each : {&first, &second}) {
    EXPECT_EQ(each->counts().version, std::uint64_t{kSteps});
    EXPECT_EQ(each->counts().averages, 2U * kSteps);
  }
  for (std::int64_t i = 0; i < kElements; ++i) {
    ASSERT_NEAR(first.parameter()[i] + second.parameter()[i], 2.0 * kSteps, 0.01) << i;
  }
}

TEST(Average, IsTheMeanAtBothAndAnotherVersion) {
  SharedSgd first(Sharing::Locked, 3), second(Sharing::Locked, 3);
  for (int i = 0; i < 3; ++i) first.parameter()[i] = static_cast<float>(1 + i);
  for (int i = 0; i < 3; ++i) second.parameter()[i] = 4;
  const Node node{.op = Op::Average, .attributes = {{"replica", std::int64_t{1}}}};
  const std::vector<VariableStorage*> variables{&second.storage(), &first.storage()};
  cpu_table()
      .build(
          {.node = node, .inputs = {}, .outputs = {}, .variables = variables, .versions_seen = {}})
      ->run({});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(first.parameter()[i], 2.5F + static_cast<float>(i) / 2);
    EXPECT_EQ(second.parameter()[i], first.parameter()[i]);
  }
  EXPECT_EQ(version_of(first.storage(), std::memory_order_relaxed), 1U);
  EXPECT_EQ(updates_of(first.storage(), std::memory_order_relaxed), 0U);
}

/// One of two loops that averages with a replica in another process: it sends the value it read,
/// the other replica updates meanwhile, and the mean comes back.
TEST(AverageWith, AndAssignAreTheAverageOfReplicasThatAreApart) {
  constexpr std::int64_t kElements = kShardElements + 3, kSteps = 100;
  SharedSgd own(Sharing::Locked, kElements), peer(Sharing::Locked, kElements);
  const Array mean({ElementType::F32, {kElements}});
  const std::vector<Tensor> sent{own.storage().tensor}, received{mean.tensor()};
  SeenVersion seen;
  const std::vector<SeenVersion*> versions{&seen}, none{nullptr};
  const std::vector<VariableStorage*> peers{&peer.storage()}, owns{&own.storage()};
  const Node average{.op = Op::AverageWith}, assign{.op = Op::Assign};
  const auto averages = cpu_table().build({.node = average,
                                           .inputs = sent,
                                           .outputs = received,
                                           .variables = peers,
                                           .versions_seen = none});
  const auto assigns = cpu_table().build({.node = assign,
                                          .inputs = received,
                                          .outputs = {},
                                          .variables = owns,
                                          .versions_seen = versions});
  std::thread other([&] { peer.loop(kSteps); });
  for (std::int64_t step = 0; step < kSteps; ++step) {
    averages->run({.step = step});
    assigns->run({.step = step});
  }
  other.join();
  for (SharedSgd* each : {&own, &peer}) EXPECT_EQ(each->counts().averages, std::uint64_t{kSteps});
  EXPECT_EQ(own.counts().version, 0U);
  EXPECT_EQ(seen.number, std::uint64_t{kSteps});  // its own averages are not missed versions
  for (std::int64_t i = 0; i < kElements; ++i) {
    ASSERT_NEAR(own.parameter()[i] + peer.parameter()[i], kSteps, 0.01) << i;
  }
}

}  // namespace
}  // namespace regatta::cpu::test
