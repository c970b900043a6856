// SPDX-License-Identifier: Apache-2.0
//
// Tests which runs are compared, and the certainty of verdicts.
#include "harness/judge/claim_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "harness/judge/claims_test.h"

namespace regatta::judge {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(ClaimEvidence, CompareOnlyWhatIsEqualInAllButTheStrategy) {
  const std::string name = "central_storage_pays_transfers";
  const auto slower = runs("central_storage", 800);
  const auto other = [&](auto change) { return with(runs("in_graph", 1000), change) + slower; };
  for (const auto& records :
       {other([](record::Record& r) { r.cell.workload = "parabola"; }),
        other([](record::Record& r) { r.cell.dtype = "bf16"; }),
        other([](record::Record& r) { r.cell.dataset = "cifar10"; }),
        other([](record::Record& r) { r.cell.global_batch = 128; }),
        other([](record::Record& r) { r.cell.workers = 3; }),
        other([](record::Record& r) { r.cell.threads_per_worker = 2; }),
        other([](record::Record& r) { r.machine.cpu = "Another CPU"; }),
        other([](record::Record& r) { r.software.git_commit = "fedcba9876543210"; }),
        other([](record::Record& r) { r.cell.steps = 64; }),
        other([](record::Record& r) { r.cell.seed += 10; }),
        other([](record::Record& r) { r.status = record::Status::Failed; }),
        other([](record::Record& r) { r.lost_processes = {"rank 1"}; })}) {
    const Claim claim = judged(records, name);
    EXPECT_EQ(claim.verdict, ClaimVerdict::Undecided) << claim.because;
  }
}

/// Speeds that differ more by seed than by strategy; the second strategy has 0.9 times the first's.
std::vector<record::Record> spread(int seeds) {
  return with(runs("in_graph", 1000, seeds) + runs("central_storage", 900, seeds),
              [](record::Record& record) {
                record.examples_per_s *= 1 + 0.1 * static_cast<double>(record.cell.seed);
              });
}

TEST(ClaimEvidence, ComparesSeedBySeedFromTwoOn) {
  const std::string name = "central_storage_pays_transfers";
  expect(spread(1), name, ClaimVerdict::Undecided);
  expect(spread(4), name, ClaimVerdict::Holds);
}

TEST(ClaimEvidence, TakesAFailedRunForNoSpeedAndOnlyADivergedOneForAnInfiniteTime) {
  record::Record failed = run("in_graph", 1, 1000);
  failed.status = record::Status::Failed;
  EXPECT_FALSE(speed(failed));
  record::Record few = run("in_graph", 1, 1000);
  few.step_time_ns.count = 4;
  EXPECT_FALSE(speed(few));
  failed.failure = record::Failure{.kind = "peer_lost", .text = ""};
  EXPECT_FALSE(seconds_to_target(failed));
  EXPECT_FALSE(examples_to_target(failed));
  failed.failure->kind = "diverged";
  EXPECT_EQ(seconds_to_target(failed)->value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(examples_to_target(failed)->value, std::numeric_limits<double>::infinity());
}

TEST(ClaimEvidence, LeavesOutSeedsAtWhichBothAreInfinite) {
  record::Record reached = run("all_reduce", 1, 1000);
  reached.examples_to_target = 4096;
  const record::Record missed = run("async_shared", 1, 1000);
  const record::Record both[] = {run("all_reduce", 2, 1000), run("async_shared", 2, 1000)};
  const RatioComparison comparison =
      compare_runs("what", {&missed, &both[1]}, {&reached, &both[0]}, examples_to_target, 1);
  ASSERT_EQ(comparison.seeds, 1U);
  EXPECT_EQ(comparison.ratio, std::numeric_limits<double>::infinity());
  EXPECT_EQ(ratio_text(comparison), "never (1 seed)");
}

/// A comparison with log ratios that scatter by `noise` around that of `ratio`.
RatioComparison noisy(double ratio, double noise, std::size_t seeds = 5) {
  RatioComparison one{.what = "a on b", .seeds = seeds, .ratio = ratio};
  const double value = ratio;
  one.pairs = MeanRatio{.pairs = seeds,
                        .value = value,
                        .spread = noise,
                        .freedom = seeds - 1,
                        .bracket_low = value,
                        .bracket_high = value};
  return one;
}

TEST(ClaimEvidence, SharesItsErrorAmongAllComparisonsOfAClaim) {
  // At 5 %, t is 2.776 for 4 degrees of freedom; at 5/6 % it is 3.479 for 8, four of them borrowed.
  const double error = 0.1 / std::sqrt(5.0);
  std::vector<RatioComparison> alone = {noisy(std::exp(3 * error), 0.1)};
  decide(alone);
  EXPECT_EQ(alone[0].side, Side::Above);
  EXPECT_NEAR(alone[0].interval->low, std::exp((3 - 2.776445) * error), 1e-6);
  std::vector<RatioComparison> five(5, noisy(std::exp(3 * error), 0.1));
  five.push_back(noisy(std::exp(-6 * error), 0.1));
  decide(five);
  EXPECT_EQ(five[0].side, Side::Unclear);
  EXPECT_EQ(five[5].side, Side::Below);
}

TEST(ClaimEvidence, DecidesWhereMostComparisonsDo) {
  EXPECT_EQ(verdict_on({.yes = 1, .no = 0, .unclear = 7}), ClaimVerdict::Undecided);
  EXPECT_EQ(verdict_on({.yes = 4, .no = 0, .unclear = 4}), ClaimVerdict::Undecided);
  EXPECT_EQ(verdict_on({.yes = 5, .no = 0, .unclear = 3}), ClaimVerdict::Holds);
  EXPECT_EQ(verdict_on({.yes = 0, .no = 5, .unclear = 3}), ClaimVerdict::DoesNotHold);
  EXPECT_EQ(verdict_on({.yes = 4, .no = 1, .unclear = 3}), ClaimVerdict::Mixed);
  EXPECT_EQ(verdict_on({}), ClaimVerdict::Undecided);
}

TEST(ClaimEvidence, IsWrongInOneOfTwentyClaimsAtMostAtTheBoundary) {
  std::mt19937_64 chance(20);
  std::normal_distribution<double> normal;
  int decided = 0;
  constexpr int kClaims = 1000;
  for (int claim = 0; claim < kClaims; ++claim) {
    std::vector<RatioComparison> comparisons;
    for (int i = 0; i < 8; ++i) {
      std::vector<LogRatio> pairs;
      for (int seed = 0; seed < 5; ++seed) {
        const double value = 0.05 * normal(chance);
        pairs.push_back({.value = value, .low = value, .high = value});
      }
      RatioComparison one{.what = "", .seeds = 5, .pairs = mean_ratio(pairs)};
      one.ratio = one.pairs->value;
      comparisons.push_back(one);
    }
    decide(comparisons);
    for (const RatioComparison& each : comparisons) {
      EXPECT_EQ(each.side == Side::Above, each.interval->low > 1);
      EXPECT_EQ(each.side == Side::Below, each.interval->high < 1);
      EXPECT_EQ(each.side == Side::Unclear, p_of(*each.pairs) >= kAlpha / 8);
    }
    const Balance balance = balance_of(comparisons, Side::Above);
    decided += balance.yes + balance.no > 0 ? 1 : 0;
  }
  EXPECT_LT(decided, 0.07 * kClaims);   // 5 %, with a deviation of 0.7 %
  EXPECT_GE(decided, 0.005 * kClaims);  // fewer, because the larger of two spreads counts
}

TEST(ClaimEvidence, AsksForTheSeedsThatWouldDecide) {
  const auto wavering = with(runs("central_storage", 930), [](record::Record& record) {
    if (record.cell.seed % 2 == 0) record.examples_per_s = 960;
  });
  const Claim claim = judged(runs("in_graph", 1000) + wavering, "central_storage_pays_transfers");
  EXPECT_EQ(claim.verdict, ClaimVerdict::Undecided) << claim.because;
  EXPECT_GT(claim.seeds, 5U);
  EXPECT_THAT(claim.missing, HasSubstr(" --resume"));
  EXPECT_THAT(claim.missing, HasSubstr("--seeds " + std::to_string(claim.seeds)));
  EXPECT_THAT(claim.numbers, Contains(HasSubstr("not decided: central_storage (2 workers")));
}

TEST(ClaimEvidence, SaysHowLongTheMissingRunsTake) {
  const auto timed = with(spread(1), [](record::Record& record) {
    record.setup_ns = 1'000'000'000;
    record.warmup_ns = 2'000'000'000;
    record.full_ns = 7'000'000'000;
  });
  const Claim claim = judged(timed, "central_storage_pays_transfers");
  EXPECT_EQ(claim.missing, "regatta matrix --tier claims --seeds 3 --out out/claims --resume");
  EXPECT_THAT(claim.because, HasSubstr("To give each cell 3 seeds takes about 40 s."));
}

TEST(ClaimEvidence, NameWhatTellsFieldsOfOneWorkloadApart) {
  const auto bf16 = with(runs("in_graph", 1000) + runs("central_storage", 800),
                         [](record::Record& record) { record.cell.dtype = "bf16"; });
  const auto records = runs("in_graph", 1000) + runs("central_storage", 800) + bf16;
  const std::vector<Field> fields = fields_of(records);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].name, "resnet9_thin, dtype f32");
  EXPECT_EQ(fields[1].name, "resnet9_thin, dtype bf16");
}

}  // namespace
}  // namespace regatta::judge
