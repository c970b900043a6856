// SPDX-License-Identifier: Apache-2.0
#include "harness/record/record.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/record/sample_record.h"
#include "kernels/base/error_for_test.h"

namespace regatta::record {
namespace {

std::string error_of(const Record& record) {
  return regatta::testing_support::error_of([&] { to_json_line(record); }, ErrorKind::Diverged);
}

TEST(Record, IsOneLineThatStartsWithItsSchema) {
  const std::string line = to_json_line(sample_record());
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::string begin =
      R"({"schema":)" + std::to_string(Record::kSchema) + R"(,"run_id":"sample-reached)";
  EXPECT_EQ(line.substr(0, begin.size()), begin);
}

TEST(Record, KeepsValues) {
  const auto json = nlohmann::json::parse(to_json_line(sample_record()));
  EXPECT_EQ(json["status"], "reached");
  EXPECT_EQ(json["cell"]["straggler"][0]["factor"], 2.5);
  EXPECT_EQ(json["training_time_to_target_ns"], 1'600'000'000);
  EXPECT_EQ(json["workers"][1]["replica"], 1);
  EXPECT_EQ(json["workers"][0]["staleness_histogram"], (std::vector<int>{12, 8}));
  EXPECT_EQ(json["workers"][0]["age_ns"]["p99"], 240'000);
  EXPECT_EQ(json["workers"][0]["updates_dropped"], 4);
  EXPECT_EQ(json["environment"]["OMP_NUM_THREADS"], "1");
}

TEST(Record, WritesTheLargestSeedExactly) {
  Record record = sample_record();
  record.cell.seed = std::numeric_limits<std::uint64_t>::max();
  const auto json = nlohmann::json::parse(to_json_line(record));
  EXPECT_EQ(json["cell"]["seed"].get<std::uint64_t>(), record.cell.seed);
}

TEST(Record, WritesNullForWhatIsNotThere) {
  const auto json = nlohmann::json::parse(to_json_line(sample_failed_record()));
  EXPECT_EQ(json["failure"]["kind"], "diverged");
  EXPECT_TRUE(json["examples_to_target"].is_null());
  EXPECT_TRUE(json["cell"]["cuda_graph"].is_null());
  EXPECT_TRUE(json["evaluations"].is_array());
  EXPECT_TRUE(json["environment"].is_object());
}

TEST(Record, RefusesNumbersThatAreNotFiniteAndNamesTheField) {
  Record record = sample_record();
  record.evaluations[1].loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of(record),
            "cannot write the record: evaluations[1].loss is nan, not a finite number");
  record = sample_record();
  record.cell.straggler[0].factor = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_of(record),
            "cannot write the record: cell.straggler[0].factor is inf, not a finite number");
}

TEST(Record, ReplacesBytesThatAreNotUtf8) {
  Record record = sample_record();
  record.command = "regatta run --out caf\xe9";
  const auto json = nlohmann::json::parse(to_json_line(record));
  EXPECT_EQ(json["command"], "regatta run --out caf\uFFFD");
}

}  // namespace
}  // namespace regatta::record
