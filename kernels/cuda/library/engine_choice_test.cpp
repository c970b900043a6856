// SPDX-License-Identifier: Apache-2.0
//
// Tests choices among engines whose times are made up.
#include "kernels/cuda/library/engine_choice.h"

#include <gtest/gtest.h>

#include <vector>

namespace regatta::cuda {
namespace {

constexpr double kNever = -1;

/// Engines with the given times, varied a little in each run, and the number of runs of each.
class Engines {
 public:
  explicit Engines(std::vector<double> ns) : ns_(std::move(ns)), runs_(ns_.size()) {}

  /// Makes an engine fail after this many runs.
  void stops_after(std::size_t candidate, int runs) { last_[candidate] = runs; }
  /// Varies each time up or down by `share`; `seed` decides the direction in each round.
  void make_noise(double share, unsigned seed) {
    noise_ = share;
    seed_ = seed;
  }

  std::optional<double> run(std::size_t candidate) {
    const int round = runs_[candidate]++;
    if (ns_[candidate] == kNever) return std::nullopt;
    if (last_.contains(candidate) && round >= last_[candidate]) return std::nullopt;
    const double warm_up = round == 0 ? 1000 : 1;  // like the loading of code
    const unsigned turn = (seed_ >> ((candidate * 7 + static_cast<unsigned>(round)) % 31)) & 1U;
    return ns_[candidate] * warm_up * (turn == 1 ? 1 + noise_ : 1 - noise_);
  }
  std::optional<EngineChoice> choose(EngineRule rule = EngineRule::Timed) {
    return choose_engine(rule, ns_.size(), [this](std::size_t c) { return run(c); });
  }
  int runs(std::size_t candidate) const { return runs_[candidate]; }

 private:
  std::vector<double> ns_;
  std::vector<int> runs_;
  std::map<std::size_t, int> last_;
  double noise_ = 0;
  unsigned seed_ = 0;
};

TEST(EngineChoice, IsTheFastest) {
  const auto choice = Engines({100e3, 90e3, 60e3, 80e3}).choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->candidate, 2U);
  EXPECT_EQ(choice->text(), "fastest of 4, 0.0600 ms; the heuristics' first 0.1000 ms");
}

TEST(EngineChoice, StaysWithTheEarlierOneWhereOthersAreHardlyFaster) {
  const auto choice = Engines({100e3, 98e3, 97.5e3}).choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->candidate, 0U);
  EXPECT_EQ(choice->text(), "fastest of 3, 0.1000 ms, the heuristics' first");
}

TEST(EngineChoice, IsTheSameUnderNoiseThatIsSmallerThanWhatCounts) {
  for (unsigned seed = 1; seed < 2000; ++seed) {
    Engines engines({100, 99.5, 70, 69.5, 150});
    engines.make_noise(0.01, seed * 2654435761U);
    const auto choice = engines.choose();
    ASSERT_TRUE(choice);
    ASSERT_EQ(choice->candidate, 2U) << "seed " << seed;
  }
}

TEST(EngineChoice, SkipsWhatDoesNotRun) {
  Engines engines({kNever, 100, kNever, 80});
  const auto choice = engines.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->candidate, 3U);
  EXPECT_EQ(choice->first, 1U);
  EXPECT_EQ(choice->first_ns, 100);
  EXPECT_EQ(choice->timed, 2U);
  EXPECT_EQ(engines.runs(0), 1) << "what does not run is not tried again";
}

TEST(EngineChoice, SkipsWhatRanOnlyAtFirst) {
  for (int runs = 1; runs <= kTrialRounds; ++runs) {
    Engines engines({100, 50, 80});
    engines.stops_after(1, runs);
    const auto choice = engines.choose();
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->candidate, 2U) << runs;
  }
}

TEST(EngineChoice, TriesNoMoreWhatIsHopelessButTellsTheFirstOnesTime) {
  Engines engines({1000, 100, 90, 201});
  const auto choice = engines.choose();
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->candidate, 2U);
  EXPECT_EQ(choice->first_ns, 1000);
  EXPECT_EQ(choice->timed, 4U);
  EXPECT_EQ(engines.runs(2), 1 + kTrialRounds);
  EXPECT_EQ(engines.runs(3), 2);
}

TEST(EngineChoice, IsNoneWhereNoneRuns) {
  for (const EngineRule rule : {EngineRule::Heuristic, EngineRule::Timed}) {
    EXPECT_FALSE(Engines({kNever, kNever}).choose(rule));
    EXPECT_FALSE(Engines({}).choose(rule));
  }
  Engines engines({100});
  engines.stops_after(0, 1);
  EXPECT_FALSE(engines.choose());
}

TEST(EngineChoice, ByHeuristicIsTheFirstThatRunsHoweverSlow) {
  Engines engines({kNever, 100, 1});
  const auto choice = engines.choose(EngineRule::Heuristic);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->candidate, 1U);
  EXPECT_EQ(choice->text(), "the heuristics' first that runs");
  EXPECT_EQ(engines.runs(1), 1);
  EXPECT_EQ(engines.runs(2), 0);
}

TEST(EngineChoice, OfOneTellsItsTime) {
  EXPECT_EQ(Engines({kNever, 5e6}).choose()->text(), "the only one that runs, 5.0000 ms");
}

TEST(EngineChoices, AreMadeOnceForEqualRequests) {
  EngineChoices choices;
  int made = 0;
  const auto choose = [&](std::size_t candidate) {
    return [&made, candidate] {
      ++made;
      return std::optional<EngineChoice>(EngineChoice{.candidate = candidate});
    };
  };
  EXPECT_EQ(choices.find_or_choose("forward", choose(3))->candidate, 3U);
  EXPECT_EQ(choices.find_or_choose("forward", choose(4))->candidate, 3U);
  EXPECT_EQ(choices.find_or_choose("backward", choose(5))->candidate, 5U);
  EXPECT_EQ(made, 2);
}

TEST(EngineChoices, RememberThatNothingRan) {
  EngineChoices choices;
  int made = 0;
  const auto choose = [&] {
    ++made;
    return std::optional<EngineChoice>();
  };
  EXPECT_FALSE(choices.find_or_choose("forward", choose));
  EXPECT_FALSE(choices.find_or_choose("forward", choose));
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace regatta::cuda
