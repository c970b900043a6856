// SPDX-License-Identifier: Apache-2.0
//
// Tests the quorum under real threads: a step takes as many pushes as it needs, all computed from
// the step's own parameters, never from older or partly replaced ones; late pushes are dropped and
// counted.
#include "kernels/runtime/loops/quorum.h"

#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/error_for_test.h"

namespace regatta {
namespace {

using regatta::testing_support::error_of;

constexpr std::int64_t kBatch = 10;

/// Workers in threads of their own. An update writes the two words of the parameters one after the
/// other, both as the number of examples applied. A push is the words that its worker has read.
/// `shares`: examples by member.
class Workers {
 public:
  Workers(std::int64_t needed, std::vector<std::int64_t> shares)
      : gradients_(shares.size()),
        pushes_(shares.size()),
        quorum_({.needed = needed,
                 .members = std::ssize(shares),
                 .updates = 2,
                 .batch = kBatch,
                 .applied_examples = &applied_examples_}),
        needed_(needed),
        shares_(std::move(shares)) {
    for (std::int64_t m = 0; m < quorum_.members(); ++m) {
      pushes_[at(m)] = {.type = {ElementType::F32, {2}}, .data = gradients_[at(m)].data()};
      quorum_.join(m, {.gradients = std::span(&pushes_[at(m)], 1), .examples = shares_[at(m)]});
      updates_.push_back(quorum_.behind(m, word_update(0)));
      updates_.push_back(quorum_.behind(m, word_update(1)));
    }
  }

  /// `work`: runs in a member's thread before it pushes.
  template <typename Work>
  void run(std::int64_t batches, const Work& work) {
    target_ += batches * kBatch;
    std::vector<std::thread> threads;
    for (std::int64_t m = 0; m < quorum_.members(); ++m) {
      threads.emplace_back([&, m] {
        while (quorum_.begin(m, patience_) < target_) {
          for (std::size_t word : {0U, 1U}) gradients_[at(m)][word] = parameters_[word];
          work(m);
          quorum_.decide(m);
          for (std::size_t word : {0U, 1U}) updates_[2 * at(m) + word]->run({});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  Quorum& quorum() { return quorum_; }
  std::int64_t applied_examples() const { return applied_examples_; }
  std::int64_t wrong() const { return wrong_; }

 private:
  static std::size_t at(std::int64_t member) { return static_cast<std::size_t>(member); }

  std::unique_ptr<Kernel> word_update(std::size_t word) {
    return make_kernel([this, word](const StepContext& context) {
      std::int64_t counted = 0;
      std::int64_t examples = 0;
      for (std::int64_t m = 0; m < quorum_.members(); ++m) {
        if (quorum_.counted(m).empty()) continue;
        ++counted;
        examples += shares_[at(m)];
        for (float seen : gradients_[at(m)]) wrong_ += seen != static_cast<float>(context.examples);
      }
      if (word == 0) ++steps_;
      wrong_ += counted != needed_ || context.batch != examples;
      wrong_ += context.step != steps_ - 1;
      wrong_ += quorum_.weight() != static_cast<float>(kBatch) / static_cast<float>(examples);
      parameters_[word] = static_cast<float>(context.examples + examples);
      std::this_thread::yield();  // another may read between the words
    });
  }

  std::vector<std::array<float, 2>> gradients_;  ///< by member
  std::vector<Tensor> pushes_;
  std::array<std::atomic<float>, 2> parameters_{};
  std::atomic<std::int64_t> applied_examples_{0};
  std::atomic<std::int64_t> wrong_{0};
  Quorum quorum_;
  std::int64_t needed_;
  std::vector<std::int64_t> shares_;
  std::int64_t steps_ = 0;
  std::vector<std::unique_ptr<Kernel>> updates_;  ///< two a member
  AbortFlag abort_;
  Patience patience_{.abort = &abort_, .spins = 100, .yields = 10};
  std::int64_t target_ = 0;
};

TEST(Quorum, TakesTheFirstPushesOfEveryStepAndNoneOfOlderParameters) {
  constexpr std::int64_t kSteps = 2000;
  Workers workers(2, {5, 5, 5, 5});
  for (int segment = 0; segment < 2; ++segment) {  // as between evaluations
    workers.run(kSteps / 2, [](std::int64_t member) {
      for (std::int64_t i = 0; i < member; ++i) std::this_thread::yield();
    });
  }
  EXPECT_EQ(workers.wrong(), 0);
  EXPECT_EQ(workers.applied_examples(), kSteps * kBatch);
  std::int64_t applied = 0;
  for (std::int64_t m = 0; m < 4; ++m) applied += workers.quorum().applied(m);
  EXPECT_EQ(applied, 2 * kSteps);
}

/// Two members have 3 + 7 examples, which are a batch, or 3 + 3, or 7 + 7.
TEST(Quorum, WeighsAStepByTheExamplesOfWhoCameFirst) {
  Quorum quorum({.needed = 2, .members = 4, .batch = kBatch});
  std::vector<std::unique_ptr<Kernel>> updates;
  std::vector<std::int64_t> seen;  // by step: itself, the examples before it, its own
  for (std::int64_t m = 0; m < 4; ++m) {
    quorum.join(m, {.gradients = {}, .examples = m % 2 == 0 ? 7 : 3});
    updates.push_back(
        quorum.behind(m, make_kernel([&](const StepContext& context) {
                        seen.insert(seen.end(), {context.step, context.examples, context.batch});
                      })));
  }
  const AbortFlag abort;
  const Patience patience{.abort = &abort};
  for (std::int64_t m = 0; m < 4; ++m) EXPECT_EQ(quorum.begin(m, patience), 0);
  EXPECT_EQ(quorum.decide(0), PushVerdict::Counts);
  EXPECT_EQ(quorum.decide(2), PushVerdict::Completes);
  EXPECT_EQ(quorum.weight(), 10.0F / 14);
  updates[2]->run({});
  for (std::int64_t m : {1, 3}) EXPECT_EQ(quorum.decide(m), PushVerdict::Dropped);
  for (std::int64_t m : {1, 3}) EXPECT_EQ(quorum.begin(m, patience), 14);
  EXPECT_EQ(quorum.decide(3), PushVerdict::Counts);
  EXPECT_EQ(quorum.decide(1), PushVerdict::Completes);
  EXPECT_EQ(quorum.weight(), 10.0F / 6);
  updates[1]->run({});
  EXPECT_EQ(quorum.begin(0, patience), 20);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 0, 14, 1, 14, 6}));
}

TEST(Quorum, GoesOnWithoutLostWorkersWhileEnoughAreLeft) {
  Quorum quorum({.needed = 2, .members = 3});
  EXPECT_EQ(quorum.retire(1), "");
  EXPECT_EQ(quorum.retire(0), "1 of 3 workers left, but a step needs 2");
}

TEST(Quorum, NamesWhoIsMissingWhenAWaitIsInVain) {
  Quorum quorum({.needed = 2, .members = 3});
  const AbortFlag abort;
  const Patience patience{.abort = &abort, .spins = 0, .yields = 0, .limit_ns = 5'000'000};
  quorum.begin(1, patience);
  quorum.decide(1);
  const std::string error = error_of([&] { quorum.begin(1, patience); }, ErrorKind::Timeout);
  EXPECT_NE(error.find("only 1 of the 2 pushes"), std::string::npos);
  EXPECT_NE(error.find("missing: worker 0, worker 2"), std::string::npos) << error;
}

}  // namespace
}  // namespace regatta
