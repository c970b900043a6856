// SPDX-License-Identifier: Apache-2.0
//
// What is compared with what, and how sure a verdict is.
#include "harness/judge/claim_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "harness/judge/claims_test.h"

namespace regatta {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(ClaimEvidence, CompareOnlyWhatIsEqualInAllButTheStrategy) {
  const std::string name = "central_storage_pays_transfers";
  const auto slower = runs("central_storage", 800);
  const auto other = [&](auto change) { return with(runs("in_graph", 1000), change) + slower; };
  for (const auto& records :
       {other([](Record& r) { r.cell.workload = "parabola"; }),
        other([](Record& r) { r.cell.dtype = "bf16"; }),
        other([](Record& r) { r.cell.dataset = "cifar10"; }),
        other([](Record& r) { r.cell.global_batch = 128; }),
        other([](Record& r) { r.cell.workers = 3; }),
        other([](Record& r) { r.cell.threads_per_worker = 2; }),
        other([](Record& r) { r.machine.cpu = "Another CPU"; }),
        other([](Record& r) { r.software.git_commit = "fedcba9876543210"; }),
        other([](Record& r) { r.cell.steps = 64; }), other([](Record& r) { r.cell.seed += 10; }),
        other([](Record& r) { r.status = Status::Failed; }),
        other([](Record& r) { r.lost_processes = {"rank 1"}; })}) {
    const Claim claim = judged(records, name);
    EXPECT_EQ(claim.verdict, ClaimVerdict::Undecided) << claim.because;
  }
}

/// Speeds that differ by seed more than by strategy; the second strategy has 0.9 of the first.
std::vector<Record> spread(int seeds) {
  return with(runs("in_graph", 1000, seeds) + runs("central_storage", 900, seeds),
              [](Record& record) {
                record.examples_per_s *= 1 + 0.1 * static_cast<double>(record.cell.seed);
              });
}

TEST(ClaimEvidence, TakesPairsOfSeedsAloneFromFiveOn) {
  const std::string name = "central_storage_pays_transfers";
  expect(spread(4), name, ClaimVerdict::Undecided);
  expect(spread(5), name, ClaimVerdict::Holds);
  EXPECT_THAT(judged(spread(5), name).because, HasSubstr("but the samples are not told apart"));
}

TEST(ClaimEvidence, TakesAFailedRunForNoSpeedAndOnlyADivergedOneForAnInfiniteTime) {
  Record failed = run("in_graph", 1, 1000);
  failed.status = Status::Failed;
  EXPECT_FALSE(speed(failed));
  Record few = run("in_graph", 1, 1000);
  few.step_time_ns.count = 4;
  EXPECT_FALSE(speed(few));
  failed.failure = Failure{.kind = "peer_lost", .text = ""};
  EXPECT_FALSE(seconds_to_target(failed));
  EXPECT_FALSE(examples_to_target(failed));
  failed.failure->kind = "diverged";
  EXPECT_EQ(seconds_to_target(failed), std::numeric_limits<double>::infinity());
  EXPECT_EQ(examples_to_target(failed), std::numeric_limits<double>::infinity());
}

TEST(ClaimEvidence, LeavesOutSeedsAtWhichBothAreInfinite) {
  Record reached = run("all_reduce", 1, 1000);
  reached.examples_to_target = 4096;
  const Record missed = run("async_shared", 1, 1000);
  const Record both[] = {run("all_reduce", 2, 1000), run("async_shared", 2, 1000)};
  const RatioComparison comparison =
      compare_runs("what", {&missed, &both[1]}, {&reached, &both[0]}, examples_to_target, 1);
  ASSERT_EQ(comparison.ratios.size(), 1U);
  EXPECT_EQ(comparison.ratios[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(ratio_text(comparison), "never (1 seed)");
}

TEST(ClaimEvidence, NeverCallThreeSeedsSignificantAndDecideNothingByTwo) {
  const std::string name = "central_storage_pays_transfers";
  const Claim three = judged(runs("in_graph", 1000, 3) + runs("central_storage", 800, 3), name);
  EXPECT_EQ(three.verdict, ClaimVerdict::Holds);
  EXPECT_THAT(three.because, HasSubstr("Three seeds are too few for a test"));
  const auto two = runs("in_graph", 1000, 2) + runs("central_storage", 800, 2);
  expect(two, name, ClaimVerdict::Undecided);
  const Claim five = judged(runs("in_graph", 1000) + runs("central_storage", 800), name);
  EXPECT_THAT(five.because, HasSubstr("is significant: p = 0.0079"));
}

TEST(ClaimEvidence, AreAsSureAsTheirClearestCounterexample) {
  const std::string name = "asynchronous_uses_hardware";
  const auto shuffled = with(runs("async_shared", 880), [](Record& record) {
    if (record.cell.seed == 5) record.examples_per_s = 899;  // of a ceiling of 1005, nearly 0.9
  });
  const auto slow = runs("parameter_server_async", 100);
  const Claim claim = judged(runs("independent", 1000) + shuffled + slow, name);
  EXPECT_EQ(claim.verdict, ClaimVerdict::DoesNotHold);
  EXPECT_THAT(claim.because, HasSubstr("The clearest is significant: p = 0.016"));
  const Claim fast = judged(
      runs("independent", 1000) + runs("async_shared", 990) + runs("parameter_server_async", 950),
      name);
  EXPECT_EQ(fast.verdict, ClaimVerdict::Holds);
  EXPECT_THAT(fast.because, HasSubstr("The least clear is significant: p = 0.016"));
}

TEST(ClaimEvidence, AskForMoreSeedsWhereSamplesOverlap) {
  const auto wavering = with(runs("central_storage", 950), [](Record& record) {
    if (record.cell.seed % 2 == 0) record.examples_per_s = 990;
  });
  const Claim claim = judged(runs("in_graph", 1000) + wavering, "central_storage_pays_transfers");
  EXPECT_EQ(claim.verdict, ClaimVerdict::Undecided) << claim.because;
  ASSERT_EQ(claim.missing.size(), 1U);
  EXPECT_THAT(claim.missing.front(), HasSubstr("--seeds 10"));
  EXPECT_THAT(claim.numbers, Contains(HasSubstr("cannot be told: central_storage x2")));
}

TEST(ClaimEvidence, NameWhatTellsFieldsOfOneWorkloadApart) {
  const auto bf16 = with(runs("in_graph", 1000) + runs("central_storage", 800),
                         [](Record& record) { record.cell.dtype = "bf16"; });
  const auto records = runs("in_graph", 1000) + runs("central_storage", 800) + bf16;
  const std::vector<Field> fields = fields_of(records);
  ASSERT_EQ(fields.size(), 2U);
  EXPECT_EQ(fields[0].name, "resnet9_thin, dtype f32");
  EXPECT_EQ(fields[1].name, "resnet9_thin, dtype bf16");
}

}  // namespace
}  // namespace regatta
