// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/timeline.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/base/error.h"

namespace regatta::contender {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

record::Record record_with(const std::string& metric, double target) {
  record::Record record;
  record.target = {.metric = metric, .value = target};
  return record;
}

TEST(Timeline, CountsEvaluationsInTheFullClockOnly) {
  record::Record record = record_with("loss", 1);
  Timeline timeline({.train_examples = 64, .total_examples = 128, .prove = {}}, record);
  const std::vector<std::string> lines = {R"({"event": "ready"})",
                                          R"({"event": "step", "examples": 64, "loss": 3})",
                                          R"({"event": "evaluate_begin"})",
                                          R"({"event": "evaluate", "metric": 2})",
                                          R"({"event": "step", "examples": 128, "loss": 2})",
                                          R"({"event": "evaluate_begin"})",
                                          R"({"event": "evaluate", "metric": 1})",
                                          R"({"event": "done"})"};
  for (std::size_t i = 0; i < lines.size(); ++i) {  // one a second, from the 10th on
    timeline.take(parse_event(lines[i], (10 + static_cast<std::int64_t>(i)) * kSecond));
  }
  timeline.finish(99 * kSecond);
  EXPECT_EQ(record.full_ns, 7 * kSecond);
  EXPECT_EQ(record.training_ns, 5 * kSecond);
  EXPECT_EQ(record.training_time_to_target_ns, 4 * kSecond);
  EXPECT_EQ(record.full_time_to_target_ns, 6 * kSecond);
  EXPECT_EQ(record.result_time_to_target_ns, 5 * kSecond);
  EXPECT_EQ(record.evaluations.back().epoch, 2);
  EXPECT_DOUBLE_EQ(record.examples_per_s, 128 / 5.0);
}

TEST(Timeline, KeepsASampleOfManyLossesAndRefusesEndlessSteps) {
  record::Record record = record_with("loss", 1);
  Timeline timeline({}, record);
  timeline.take({.kind = EventKind::Ready});
  Event step{.kind = EventKind::Step, .examples = 0, .loss = 1};
  const auto go_on = [&](std::int64_t until) {
    while (*step.examples < until) {
      ++*step.examples;
      timeline.take(step);
    }
  };
  go_on(2'000'000);
  EXPECT_LT(record.losses.size(), 4096U);
  EXPECT_GE(record.losses.size(), 1024U);
  EXPECT_THROW(go_on(2'000'001), RunError);
}

TEST(Timeline, RefusesARunThatIsNotTheClaimedOne) {
  record::Record record = record_with("accuracy", 90);
  Timeline timeline({.train_examples = 64,
                     .total_examples = 64,
                     .prove =
                         [](const std::string& json) {
                           if (json != "p") throw RunError(ErrorKind::Program, "differs");
                         }},
                    record);
  EXPECT_THROW(timeline.take({.kind = EventKind::Ready}), RunError);
  EXPECT_THROW(timeline.take({.kind = EventKind::Proof, .json = "q"}), RunError);
  timeline.take({.kind = EventKind::Proof, .json = "p"});
  timeline.take({.kind = EventKind::Ready});
  EXPECT_THROW(timeline.take({.kind = EventKind::Step, .examples = 65}), RunError);
  timeline.take({.kind = EventKind::Step, .examples = 32});
  timeline.take({.kind = EventKind::EvaluateBegin});
  timeline.take({.kind = EventKind::Evaluate, .metric = 95});
  EXPECT_THROW(timeline.take({.kind = EventKind::Done}), RunError);  // half of the examples
  timeline.take({.kind = EventKind::Step, .examples = 64});
  EXPECT_THROW(timeline.take({.kind = EventKind::Done}), RunError);  // no last evaluation
}

TEST(MllogReader, EndsAnEvaluationAtItsStopWhereverTheAccuracyStands) {
  const auto line = [](const std::string& key, const std::string& value) {
    return R"(:::MLLOG {"key": ")" + key + R"(", "value": )" + value +
           R"(, "metadata": {"epoch_num": 2}})";
  };
  for (const bool accuracy_first : {true, false}) {
    MllogReader reader("accuracy");
    EXPECT_FALSE(reader.take("loss 2.3", 0));
    EXPECT_FALSE(reader.take(line("train_samples", "50"), 0));
    EXPECT_EQ(reader.take(line("eval_start", "null"), 1)->kind, EventKind::EvaluateBegin);
    const std::string accuracy = line("eval_accuracy", "0.5"), stop = line("eval_stop", "null");
    EXPECT_FALSE(reader.take(accuracy_first ? accuracy : stop, 2));
    const auto event = reader.take(accuracy_first ? stop : accuracy, 3);
    ASSERT_TRUE(event);
    EXPECT_EQ(event->at_ns, accuracy_first ? 3 : 2);
    EXPECT_EQ(event->examples, 100);
    EXPECT_EQ(event->metric, 50);
  }
}

TEST(MllogReader, TakesTheExamplesOfSamplesCount) {
  MllogReader reader("loss");
  const auto event = reader.take(
      R"(:::MLLOG {"key": "eval_accuracy", "value": 3.3, "metadata": {"samples_count": 70}})", 5);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->examples, 70);
  EXPECT_EQ(event->metric, 3.3);
}

}  // namespace
}  // namespace regatta::contender
