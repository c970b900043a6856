// SPDX-License-Identifier: Apache-2.0
//
// Each claim on made-up records that support it, that refute it, and that cannot decide it.

#include <gmock/gmock.h>

#include <cmath>

#include "harness/judge/claims_test.h"

namespace regatta::judge {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Worker 1 computes for three times its own time, and for `times_others` times that of the other.
std::vector<record::Record> slowed(const std::string& strategy, double examples_per_s,
                                   double times_others = 3) {
  return with(runs(strategy, examples_per_s), [&](record::Record& record) {
    record.cell.straggler = {{.worker = 1, .factor = 3}};
    record.workers = {{.place = "replica0", .replica = 0, .steps = 100, .compute_ns = 1'000'000},
                      {.place = "replica1",
                       .replica = 1,
                       .steps = 100,
                       .compute_ns = std::llround(times_others * 1e6),
                       .straggler_factor = 3.0}};
  });
}

/// Each worker computes for `share` of the step.
std::vector<record::Record> computing(std::vector<record::Record> records, double share) {
  return with(std::move(records), [&](record::Record& record) {
    record::WorkerRecord worker{.place = "replica1", .replica = 1, .steps = 128};
    worker.compute_ns = std::llround(128 * share * 64 / record.examples_per_s * 1e9);
    record.workers = {worker, worker};
    record.workers[1].replica = 0;
    record.workers[1].place = "replica0";
  });
}

std::vector<record::Record> reaching(std::vector<record::Record> records, std::int64_t examples,
                                     double seconds) {
  return with(std::move(records), [&](record::Record& record) {
    const auto seed = static_cast<std::int64_t>(record.cell.seed);
    record.status = record::Status::Reached;
    record.examples_to_target = examples + 64 * seed;
    record.training_time_to_target_ns =
        std::llround(seconds * (1 + 0.001 * static_cast<double>(seed)) * 1e9);
    record.evaluations = {{.epoch = 0, .loss = 2}, {.examples = 8192, .epoch = 2, .loss = 1}};
  });
}

TEST(Claims, AreUndecidedWithoutRecordsAndNameTheRunsThatDecideThem) {
  const std::vector<Claim> claims = judge_claims({});
  EXPECT_EQ(claims.size(), 15U);
  for (const Claim& claim : claims) {
    EXPECT_EQ(claim.verdict, ClaimVerdict::Undecided) << claim.name;
    EXPECT_THAT(claim.because, HasSubstr("These records hold no "));
    EXPECT_THAT(claim.missing, HasSubstr("regatta matrix --tier claims"));
  }
}

TEST(Claims, TellWaitingForTheSlowestFromLosingItsShare) {
  const auto plain = computing(runs("all_reduce", 1000), 1);
  expect(plain + slowed("all_reduce", 335), "waits_for_slowest", ClaimVerdict::Holds);
  expect(plain + slowed("all_reduce", 660), "waits_for_slowest", ClaimVerdict::DoesNotHold);
  expect(plain, "waits_for_slowest", ClaimVerdict::Undecided);
  const auto both = computing(runs("in_graph", 900), 1) + slowed("in_graph", 600);
  const Claim mixed = judged(plain + slowed("all_reduce", 335) + both, "waits_for_slowest");
  EXPECT_EQ(mixed.verdict, ClaimVerdict::Mixed);
  EXPECT_THAT(
      mixed.numbers,
      Contains(HasSubstr(
          "waits: all_reduce (2 workers, straggler 1:3) on resnet9_thin "
          "[waiting 0.33, not 0.67; 3.00 times as slow, by a measured factor of 3.00] 0.3")));
}

TEST(Claims, ExpectOfAStragglerWhatItsShareOfComputingTimeGives) {
  // A tenth of the step tripled is a step of 1.2: waiting can hardly be seen.
  const auto records = computing(runs("all_reduce", 1000), 0.1) + slowed("all_reduce", 990);
  expect(records, "waits_for_slowest", ClaimVerdict::Undecided);
  const auto half = computing(runs("all_reduce", 1000), 0.5);  // waiting 0.5, losing 0.75
  expect(half + slowed("all_reduce", 520), "waits_for_slowest", ClaimVerdict::Holds);
  expect(half + slowed("all_reduce", 740), "waits_for_slowest", ClaimVerdict::DoesNotHold);
}

TEST(Claims, HoldAsynchronousSpeedAgainstTheCeiling) {
  const auto ceiling = runs("independent", 1000);
  const std::string name = "asynchronous_uses_hardware";
  expect(ceiling + runs("async_shared", 980), name, ClaimVerdict::Holds);
  expect(ceiling + runs("async_shared", 500), name, ClaimVerdict::DoesNotHold);
  expect(ceiling + runs("async_shared", 901.5, 1), name, ClaimVerdict::Undecided);
  expect(runs("async_shared", 980), name, ClaimVerdict::Undecided);
  expect(ceiling + slowed("async_shared", 980), name, ClaimVerdict::Undecided);
  const auto on_one_gpu = with(ceiling + runs("async_shared", 980),
                               [](record::Record& record) { record.cell.shared_gpu = true; });
  expect(on_one_gpu, name, ClaimVerdict::Undecided);
}

/// Losses that alternate by `jitter`. Asynchronous runs have two a batch, which differ by more but
/// have means that alternate alike.
std::vector<record::Record> jittery(const std::string& strategy, double jitter) {
  return with(runs(strategy, 1000), [&](record::Record& record) {
    const int each = strategy == "async_shared" ? 2 : 1;
    record.step_time_ns.count = 128 * each;
    record.evaluations = {{.epoch = 0, .loss = 2}, {.examples = 8192, .epoch = 2, .loss = 1}};
    for (int batch = 0; batch < 128; ++batch) {
      const double loss =
          1 + (batch % 2 == 0 ? jitter : 0) + 1e-4 * static_cast<double>(record.cell.seed);
      for (int k = 0; k < each; ++k) {
        record.losses.push_back({.examples = batch * 64 + k * 32,
                                 .loss = each == 1 ? loss : loss * (k == 0 ? 1.3 : 0.7)});
      }
    }
  });
}

TEST(Claims, CompareJitterOverEqualExamples) {
  const auto steady = jittery("all_reduce", 0.05);
  const std::string name = "asynchronous_is_jittery";
  expect(steady + jittery("async_shared", 0.10), name, ClaimVerdict::Holds);
  const auto as_steady = steady + jittery("async_shared", 0.05);
  expect(as_steady, name, ClaimVerdict::DoesNotHold);  // though single updates differ by far more
  EXPECT_THAT(judged(as_steady, name).numbers, Contains(HasSubstr("the loss of single updates")));
  expect(steady, name, ClaimVerdict::Undecided);
}

TEST(Claims, CompareExamplesToTheTarget) {
  const auto sync = reaching(runs("all_reduce", 1000), 4096, 4);
  const std::string name = "asynchronous_needs_more_examples";
  expect(sync + reaching(runs("async_shared", 1000), 5120, 5), name, ClaimVerdict::Holds);
  expect(sync + reaching(runs("async_shared", 1000), 4096, 4), name, ClaimVerdict::DoesNotHold);
  const auto missed = with(runs("async_shared", 1000), [](record::Record& record) {
    record.evaluations = {{.loss = 2}, {.examples = 8192, .epoch = 2, .loss = 1}};
  });
  expect(sync + missed, name, ClaimVerdict::Holds);
  EXPECT_THAT(judged(sync + missed, name).numbers, Contains(HasSubstr("never (5 seeds)")));
  expect(sync, name, ClaimVerdict::Undecided);
}

TEST(Claims, CompareATunedRateWithTheControlsOwn) {
  const auto reached = [](const std::string& strategy, std::int64_t examples, double rate) {
    return with(reaching(runs(strategy, 1000), examples, 4),
                [&](record::Record& record) { record.cell.rate_scale = rate; });
  };
  const std::string name = "asynchronous_needs_more_examples";
  const auto tuned = reached("all_reduce", 4096, 1) + reached("async_shared", 9000, 2);
  expect(tuned, name, ClaimVerdict::Holds);
  expect(tuned + reached("all_reduce", 18000, 2), name, ClaimVerdict::DoesNotHold);
}

TEST(Claims, CompareTimeToTheTarget) {
  const auto sync = reaching(runs("parameter_server", 1000), 4096, 4);
  const std::string name = "asynchronous_in_equal_time";
  const std::string strategy = "parameter_server_async";
  expect(sync + reaching(runs(strategy, 1000), 5120, 3.5), name, ClaimVerdict::Holds);
  expect(sync + reaching(runs(strategy, 1000), 5120, 5), name, ClaimVerdict::DoesNotHold);
  expect(sync, name, ClaimVerdict::Undecided);
  const auto bounded = with(reaching(runs(strategy, 1000), 5120, 3.5), [](record::Record& record) {
    record.cell.options["staleness_bound"] = 0;
  });
  expect(sync + bounded, name, ClaimVerdict::Undecided);  // the claim excludes lockstep
  const auto by_two_servers =
      with(reaching(runs(strategy, 1000), 5120, 3.5),
           [](record::Record& record) { record.cell.options["servers"] = 2; });
  const auto by_one =
      with(sync, [](record::Record& record) { record.cell.options["servers"] = 1; });
  expect(by_one + by_two_servers, name, ClaimVerdict::Undecided);  // not its sibling
}

/// Runs with 2 and with 4 workers; their busiest place sends the given bytes in a step.
std::vector<record::Record> sending(const std::string& strategy, double with_two, double with_four,
                                    const std::string& all_reduce = "ring") {
  std::vector<record::Record> result;
  for (const auto& [workers, bytes] : {std::pair(2, with_two), std::pair(4, with_four)}) {
    record::Record record = run(strategy, 1, 1000);
    record.cell.workers = workers;
    record.cell.oversubscribed = workers == 4;
    if (strategy == "all_reduce") record.cell.options["all_reduce"] = all_reduce;
    const auto sent = static_cast<std::int64_t>(bytes * 10);
    record.workers = {
        {.place = "replica0", .steps = 10, .bytes_sent = sent, .bytes_received = sent},
        {.place = "replica1", .steps = 10, .bytes_sent = sent / 2}};
    result.push_back(record);
  }
  return result;
}

TEST(Claims, CountBytesOfServerAndRingByWorkers) {
  const auto ring = sending("all_reduce", 1000, 1500);
  const std::string name = "central_link_carries_all";
  expect(ring + sending("parameter_server", 2000, 4000), name, ClaimVerdict::Holds);
  expect(ring + sending("parameter_server", 2000, 2500), name, ClaimVerdict::DoesNotHold);
  expect(sending("all_reduce", 1000, 3000) + sending("parameter_server", 2000, 4000), name,
         ClaimVerdict::DoesNotHold);
  const auto in_bf16 = with(sending("parameter_server", 2000, 4000),
                            [](record::Record& record) { record.workers[0].bytes_sent /= 2; });
  expect(ring + in_bf16, name, ClaimVerdict::Holds);  // gradients travel as f32
  expect(ring, name, ClaimVerdict::Undecided);
  expect({ring[0], sending("parameter_server", 2000, 4000)[0]}, name, ClaimVerdict::Undecided);
}

TEST(Claims, CountBytesOfReductionToOneDevice) {
  const auto ring = sending("all_reduce", 1000, 1500);
  const std::string name = "reduction_loads_one_device";
  expect(ring + sending("all_reduce", 1000, 3000, "reduce_to_one"), name, ClaimVerdict::Holds);
  expect(ring + sending("all_reduce", 1000, 1500, "reduce_to_one"), name,
         ClaimVerdict::DoesNotHold);
  expect({ring[0], sending("all_reduce", 1000, 3000, "reduce_to_one")[0]}, name,
         ClaimVerdict::Undecided);  // two workers send the same either way
}

TEST(Claims, CompareTheServerWithTheRingOverProcesses) {
  const auto over = [](const std::string& strategy, double examples_per_s, std::int64_t processes) {
    return with(runs(strategy, examples_per_s),
                [&](record::Record& record) { record.cell.processes = processes; });
  };
  const auto ring = over("all_reduce", 1000, 2);
  const std::string name = "central_link_costs_time";
  expect(ring + over("parameter_server", 800, 3), name, ClaimVerdict::Holds);
  expect(ring + over("parameter_server", 1000, 3), name, ClaimVerdict::DoesNotHold);
  expect(over("all_reduce", 1000, 1) + over("parameter_server", 800, 3), name,
         ClaimVerdict::Undecided);  // a ring in memory crosses no link
}

TEST(Claims, CountNodesByWorkers) {
  const auto nodes = [](const std::string& strategy, std::vector<std::int64_t> of_two,
                        std::vector<std::int64_t> of_four) {
    auto records = sending(strategy, 1, 1);
    records[0].graph.nodes_per_process = std::move(of_two);
    records[1].graph.nodes_per_process = std::move(of_four);
    for (record::Record& record : records) {
      record.cell.processes = static_cast<std::int64_t>(record.graph.nodes_per_process.size());
    }
    return records;
  };
  const auto own = nodes("all_reduce", {50, 50}, {51, 51, 51, 51});
  expect(nodes("in_graph", {100}, {190}) + own, "in_graph_grows", ClaimVerdict::Holds);
  expect(nodes("in_graph", {100}, {105}) + own, "in_graph_grows", ClaimVerdict::DoesNotHold);
  expect(nodes("in_graph", {100}, {190}) + nodes("all_reduce", {50, 50}, {90, 90, 90, 90}),
         "in_graph_grows", ClaimVerdict::DoesNotHold);
  expect(own, "in_graph_grows", ClaimVerdict::Undecided);
}

TEST(Claims, CompareCentralStorageWithParametersAtAWorker) {
  const auto at_worker = runs("in_graph", 1000);
  const std::string name = "central_storage_pays_transfers";
  expect(at_worker + runs("central_storage", 800), name, ClaimVerdict::Holds);
  expect(at_worker + runs("central_storage", 1000), name, ClaimVerdict::DoesNotHold);
  expect(runs("central_storage", 800), name, ClaimVerdict::Undecided);
}

/// Runs that end at `loss` and plan `bytes`.
std::vector<record::Record> planning(const std::string& strategy, double loss, std::int64_t bytes,
                                     std::int64_t workers = 4) {
  return with(runs(strategy, 1000), [&](record::Record& record) {
    record.cell.workers = workers;
    record.evaluations = {{.examples = 8192, .epoch = 2, .loss = loss}};
    record.memory.planned_bytes = bytes;
  });
}

/// Runs with an exchange in every `every`-th step.
std::vector<record::Record> exchanging(const std::string& strategy, std::int64_t every,
                                       std::int64_t examples) {
  return with(reaching(runs(strategy, 1000), examples, 2),
              [&](record::Record& record) { record.cell.options["sync_every"] = every; });
}

TEST(Claims, HoldFewerExchangesAgainstTheSameStrategyWithOneInEveryStep) {
  const std::string name = "fewer_exchanges_cost_accuracy";
  const auto always = exchanging("diloco", 1, 6400);
  expect(always + exchanging("diloco", 16, 8000), name, ClaimVerdict::Holds);
  expect(always + exchanging("diloco", 4, 4000), name, ClaimVerdict::DoesNotHold);
  const auto whole = reaching(runs("all_reduce", 1000), 4000, 2);
  expect(whole + always, name, ClaimVerdict::Undecided);  // no exchanges are rarer
  expect(whole + exchanging("diloco", 16, 8000), name, ClaimVerdict::Undecided);
  expect(exchanging("local_sgd", 1, 6400) + exchanging("diloco", 16, 8000), name,
         ClaimVerdict::Undecided);
}

TEST(Claims, TellTheOuterOptimizerFromTheExchange) {
  const std::string name = "outer_optimizer_helps";
  const auto single = with(reaching(runs("single", 1000), 6400, 2),
                           [](record::Record& record) { record.cell.workers = 1; });
  const auto alone = [](std::int64_t examples) {
    return with(exchanging("diloco", 16, examples),
                [](record::Record& record) { record.cell.workers = 1; });
  };
  expect(single + alone(5000), name, ClaimVerdict::Holds);
  expect(single + alone(6400), name, ClaimVerdict::DoesNotHold);
  const auto together = exchanging("diloco", 16, 8000);
  expect(single + together, name, ClaimVerdict::Undecided);
  EXPECT_THAT(judged(single + alone(5000) + together, name).numbers,
              Contains(HasSubstr("the part of the exchange, in terms of diloco with one worker: "
                                 "diloco (2 workers, sync_every=16)")));
}

TEST(Claims, NameTheControlAndTheWorkersOfTheirComparisons) {
  const Claim of_ratios = judged(exchanging("diloco", 1, 6400) + exchanging("diloco", 16, 8000),
                                 "fewer_exchanges_cost_accuracy");
  EXPECT_THAT(of_ratios.because, HasSubstr("Of 1 comparison with 2 workers: 1 more"));
  EXPECT_THAT(of_ratios.numbers, Contains(HasSubstr("control diloco (2 workers, sync_every=1)")));
  const Claim of_facts =
      judged(sending("all_reduce", 1000, 1500) + sending("parameter_server", 2000, 4000),
             "central_link_carries_all");
  EXPECT_THAT(of_facts.because, HasSubstr("Counted with 2, 4 workers."));
}

TEST(Claims, HoldCompressionAgainstTheTimeOfAllReduce) {
  const auto whole = reaching(runs("all_reduce", 1000), 6400, 2);
  const std::string name = "compression_seldom_pays";
  expect(whole + reaching(runs("all_reduce+powersgd", 800), 6400, 2.5), name, ClaimVerdict::Holds);
  expect(whole + reaching(runs("all_reduce+powersgd", 2000), 6400, 1), name,
         ClaimVerdict::DoesNotHold);
  expect(whole + reaching(runs("all_reduce+model_parallel", 2000), 6400, 1), name,
         ClaimVerdict::Undecided);
}

TEST(Claims, HoldSharesAgainstLossAndMemoryOfAllReduce) {
  const auto whole = planning("all_reduce", 1.25, 2'000'000);
  const std::string name = "sharding_costs_no_accuracy";
  expect(whole + planning("sharded", 1.25, 1'500'000), name, ClaimVerdict::Holds);
  expect(whole + planning("sharded", 1.25000001, 1'500'000), name, ClaimVerdict::Holds);
  EXPECT_THAT(judged(whole + planning("sharded", 1.25000001, 1'500'000), name).numbers.front(),
              HasSubstr(" 0 of 5 seeds end at the very loss of all_reduce, 5 within 1e-06;"));
  expect(whole + planning("sharded", 1.25001, 1'500'000), name, ClaimVerdict::DoesNotHold);
  expect(whole + planning("sharded", 1.25, 2'000'000), name, ClaimVerdict::DoesNotHold);
  expect(planning("all_reduce", 1.25, 2'000'000, 2) + planning("sharded", 1.25, 2'000'000, 2), name,
         ClaimVerdict::Undecided);  // two workers cannot save
  expect(whole, name, ClaimVerdict::Undecided);
}

}  // namespace
}  // namespace regatta::judge
