// SPDX-License-Identifier: Apache-2.0
//
// Tests read, sgd, adam, muon, average and lookahead of variables that loops share: they match the
// CPU if loops take turns; if not, the rules of versions, locks and lost updates hold.
#include <atomic>
#include <span>
#include <thread>

#include "kernels/base/error_for_test.h"
#include "kernels/cpu/test_support.h"
#include "kernels/cpu/update_for_test.h"
#include "kernels/cuda/device/device_op_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/cuda/ops/shared_loops_for_test.h"

namespace regatta::cuda {
namespace {

using namespace cpu::test;
using namespace testing_support;

class SharedUpdate : public testing::TestWithParam<testing_support::On> {
 protected:
  void SetUp() override { testing_support::make_device(GetParam(), device_); }

  std::unique_ptr<Device> device_;
};
INSTANTIATE_TEST_SUITE_P(On, SharedUpdate, kDevices, name_of_device);

constexpr std::int64_t kShared = 2 * kShardElements + 5;
constexpr Sharing kSharings[] = {Sharing::Relaxed, Sharing::Locked};

std::vector<OpCase> updates() {
  const auto random = [](unsigned seed) { return random_array({kShared}, seed); };
  Array positive = random(4);
  for (std::int64_t i = 0; i < kShared; ++i) positive.f32()[i] = std::abs(positive.f32()[i]);
  return {{Op::Sgd, sgd_attributes(0.9, 1), {random(1)}, {random(2), random(3)}, "sgd"},
          {Op::Adam,
           with_schedule({{"beta1", 0.9},
                          {"beta2", 0.999},
                          {"epsilon", 1e-8},
                          {"weight_decay", 0.1},
                          {"weight", 0.5}},
                         {0.1, 0.2}),
           {random(1)},
           {random(2), random(3), positive},
           "adam"},
          {Op::Muon,
           with_schedule({{"momentum", 0.95},
                          {"weight_decay", 0.1},
                          {"weight", 0.5},
                          {"scale", 1.0},
                          {"normalized", std::int64_t{1}},
                          {"iterations", std::int64_t{5}},
                          {"element", static_cast<std::int64_t>(ElementType::F32)}},
                         {0.1, 0.2}),
           {random_array({60, 600}, 1)},
           {random_array({60, 600}, 2), random_array({60, 600}, 3)},
           "muon"},
          {Op::Lookahead,
           with_schedule({{"every", std::int64_t{2}},
                          {"after", std::int64_t{0}},
                          {"loops_step_apart", std::int64_t{1}},
                          {"global_batch", std::int64_t{10}},
                          {"total_examples", std::int64_t{90}}},
                         {0.5, 0.9}),
           {},
           {random(1), random(2)},
           "lookahead"},
          {Op::Average,
           {{"replica", std::int64_t{1}}},
           {},
           {random(1), random(2), random(3)},
           "average"}};
}

/// The state after two loops, of which the second makes two steps for each of the first.
struct Left {
  std::vector<Array> variables;
  std::uint64_t version = 0, canary = 0, averages = 0;
  std::vector<std::uint64_t> staleness[2];
  std::int64_t ages = 0;
};

Left take_turns(const KernelTable& table, Device& device, Sharing sharing, const OpCase& update) {
  SharedVariables shared(device, sharing, update.variables);
  Loop slow(table, shared, update), fast(table, shared, update);
  std::int64_t examples = 0, before[2] = {0, 0};
  const auto next = [&](std::int64_t step, int loop) {
    const StepContext context{
        .step = step, .examples = examples, .examples_before = before[loop], .counters = nullptr};
    before[loop] = examples;
    examples += 5;
    return context;
  };
  for (std::int64_t step = 0; step < 6; ++step) {
    const StepContext of_slow = next(step, 0);
    slow.read(of_slow);
    for (std::int64_t turn : {2 * step, 2 * step + 1}) {
      const StepContext of_fast = next(turn, 1);
      fast.read(of_fast);
      fast.update(of_fast);
    }
    slow.update(of_slow);
  }
  return {.variables = shared.values(),
          .version = shared.counts().version,
          .canary = shared.counts().canary,
          .averages = shared.counts().averages,
          .staleness = {slow.staleness(), fast.staleness()},
          .ages = slow.age().count() + fast.age().count()};
}

TEST_P(SharedUpdate, LeavesWhatTheCpuLeavesWhereLoopsTakeTurns) {
  for (const Sharing sharing : kSharings) {
    for (const OpCase& update : updates()) {
      if (update.op == Op::Average && sharing == Sharing::Relaxed) continue;  // it needs locks
      const std::string what = update.name + " " + std::string(to_string(sharing));
      const Left expected = take_turns(cpu_table(), cpu_device(), sharing, update);
      const Left actual = take_turns(cuda_table(), *device_, sharing, update);
      expect_close(actual.variables, expected.variables, {.absolute = 4e-6, .relative = 2e-6},
                   what);
      EXPECT_EQ(actual.version, expected.version) << what;
      EXPECT_EQ(actual.canary, expected.canary) << what;
      EXPECT_EQ(actual.staleness[0], expected.staleness[0]) << what;
      EXPECT_EQ(actual.staleness[1], expected.staleness[1]) << what;
      EXPECT_EQ(actual.ages, expected.ages) << what;
      EXPECT_EQ(actual.averages, expected.averages) << what;
      EXPECT_GT(actual.version + actual.averages, 0U) << what;
    }
  }
}

/// SGD that adds one to every element, so that an element counts the updates it has had.
OpCase counting_updates(std::int64_t elements) {
  OpCase update{Op::Sgd,
                {{"momentum", 0.0},
                 {"nesterov", std::int64_t{0}},
                 {"weight_decay", 0.0},
                 {"weight", 1.0},
                 {"schedule_examples", std::vector<double>{0}},
                 {"schedule_values", std::vector<double>{1}}},
                {random_array({elements}, 1)},
                {random_array({elements}, 1), random_array({elements}, 1)},
                "counting"};
  std::fill_n(update.inputs[0].f32(), elements, -1.0F);
  for (const Array& variable : update.variables) std::fill_n(variable.f32(), elements, 0.0F);
  return update;
}

TEST_P(SharedUpdate, CountsVersionsInTheOrderOfTheQueueAndNotOfTheHost) {
  const OpCase update = counting_updates(100);
  SharedVariables shared(*device_, Sharing::Relaxed, update.variables);
  Loop first(cuda_table(), shared, update), second(cuda_table(), shared, update);
  // Recording ends the host's part before the first read.
  const auto first_read = first.recorded_read(), first_update = first.recorded_update();
  const auto second_read = second.recorded_read(), second_update = second.recorded_update();
  first.launch(*first_read);
  for (int turn = 0; turn < 3; ++turn) {
    second.launch(*second_read);
    EXPECT_EQ(second.copy()[99], static_cast<float>(turn));
    second.launch(*second_update);
  }
  first.launch(*first_update);
  EXPECT_EQ(first.seen(), 0U);
  EXPECT_EQ(first.staleness()[3], 1U);
  EXPECT_EQ(second.staleness()[0], 3U);
  EXPECT_EQ(shared.counts().version, 4U);
  EXPECT_EQ(shared.counts().canary, 4U);
  first.launch(*first_read);
  EXPECT_EQ(first.seen(), 4U);
  EXPECT_EQ(first.copy()[0], 4.0F);
}

/// Runs two loops that update concurrently, `times` each. Returns the updates they counted.
std::uint64_t update_at_once(SharedVariables& shared, const OpCase& update, int times) {
  Loop first(cuda_table(), shared, update), second(cuda_table(), shared, update);
  const auto train = [times](Loop& loop) {
    for (int step = 0; step < times; ++step) {
      loop.read({.step = step});
      loop.update({.step = step});
    }
  };
  std::thread other([&] { train(second); });
  train(first);
  other.join();
  std::uint64_t counted = 0;
  for (const Loop* loop : {&first, &second}) {
    for (const std::uint64_t count : loop->staleness()) counted += count;
  }
  return counted;
}

TEST_P(SharedUpdate, CountsEveryRelaxedUpdateAndInventsNone) {
  constexpr int kTimes = 2000;
  const OpCase update = counting_updates(300);
  SharedVariables shared(*device_, Sharing::Relaxed, update.variables);
  EXPECT_EQ(update_at_once(shared, update, kTimes), 2U * kTimes);
  EXPECT_EQ(shared.counts().version, 2U * kTimes);
  EXPECT_LE(shared.counts().canary, 2U * kTimes);
  EXPECT_GE(shared.counts().canary, 1U * kTimes / 2);
  const std::vector<Array> left = shared.values();
  for (std::int64_t i = 0; i < 300; ++i) {
    ASSERT_GT(left[0].f32()[i], 0.0F) << i;
    ASSERT_LE(left[0].f32()[i], static_cast<float>(2 * kTimes)) << i;
  }
}

TEST_P(SharedUpdate, LosesNothingUnderLocks) {
  constexpr int kTimes = 100;
  const OpCase update = counting_updates(kShared);
  SharedVariables shared(*device_, Sharing::Locked, update.variables);
  EXPECT_EQ(update_at_once(shared, update, kTimes), 2U * kTimes);
  EXPECT_EQ(shared.counts().version, 2U * kTimes);
  EXPECT_EQ(shared.counts().canary, 2U * kTimes);
  const std::vector<Array> left = shared.values();
  for (std::int64_t i = 0; i < kShared; ++i) {
    ASSERT_EQ(left[0].f32()[i], static_cast<float>(2 * kTimes)) << i;
  }
}

/// While one other loop updates, no update is lost even without locks; with locks, a shard is read
/// in one version.
TEST_P(SharedUpdate, LetsAReaderSeeAllThatItsVersionCounts) {
  constexpr int kReads = 400;
  for (const Sharing sharing : kSharings) {
    const OpCase update = counting_updates(kShared);
    SharedVariables shared(*device_, sharing, update.variables);
    Loop reader(cuda_table(), shared, update), writer(cuda_table(), shared, update);
    std::atomic<bool> enough{false};
    std::thread other([&] {
      while (!enough) writer.update({});
    });
    int newer = 0, mixed = 0;
    for (int pull = 0; pull < kReads || reader.seen() < kReads; ++pull) {
      reader.read({});
      const std::vector<float> elements = reader.copy();
      const std::span<const float> copy(elements);
      const auto seen = static_cast<float>(reader.seen());
      for (const float element : copy) newer += seen > element ? 1 : 0;
      for (const float element : copy.first(kShardElements)) mixed += element != copy[0] ? 1 : 0;
    }
    enough = true;
    other.join();
    EXPECT_EQ(newer, 0) << "the version that is noted is newer than what was read";
    EXPECT_TRUE(mixed == 0 || sharing == Sharing::Relaxed) << mixed;
  }
}

TEST_P(SharedUpdate, OfAQuorumSaysThatServersComputeOnTheCpu) {
  const OpCase update = counting_updates(10);
  SharedVariables shared(*device_, Sharing::Quorum, update.variables);
  const std::string error =
      regatta::testing_support::error_of([&] { const Loop loop(cuda_table(), shared, update); });
  EXPECT_NE(error.find("backup workers compute on the CPU"), std::string::npos) << error;
}

}  // namespace
}  // namespace regatta::cuda
