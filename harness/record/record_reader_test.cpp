// SPDX-License-Identifier: Apache-2.0
#include "harness/record/record_reader.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/record/sample_record.h"
#include "harness/system/folder_for_test.h"
#include "kernels/base/error_for_test.h"

namespace regatta::record {
namespace {

using regatta::testing_support::error_of;

namespace fs = std::filesystem;

/// A folder with a records.jsonl of this text; the same folder in each call.
fs::path folder_with(const std::string& text) {
  static const testing_support::ScratchFolder folder;
  std::ofstream(folder.path() / "records.jsonl") << text;
  return folder.path();
}

std::string error_of_reading(const fs::path& folder) {
  return error_of([&] { read_records(folder); }, ErrorKind::Data);
}

/// The sample as JSON with fields that a test can change.
nlohmann::ordered_json sample_as_json() {
  return nlohmann::ordered_json::parse(to_json_line(sample_record()));
}

std::string warning_for(const std::string& line) {
  const ReadRecords read = read_records(folder_with(to_json_line(sample_record()) + line + '\n'));
  EXPECT_EQ(read.records.size(), 1U);
  return read.warnings.size() == 1 ? read.warnings[0] : "not one warning";
}

TEST(RecordReader, ReadsAllThatTheWriterWrites) {
  for (const Record& record : {sample_record(), sample_failed_record()}) {
    const std::string line = to_json_line(record);
    EXPECT_EQ(to_json_line(record_from_json(line)), line);
  }
  const nlohmann::ordered_json made = sample_as_json().flatten();
  const nlohmann::ordered_json given = nlohmann::ordered_json::parse(sample_json()).flatten();
  for (const auto& [path, value] : given.items()) {
    ASSERT_TRUE(made.contains(path)) << path;
    EXPECT_EQ(made.at(path), value) << path;
  }
}

/// The bytes that gzip makes of the text.
std::string compressed(const std::string& text) {
  const testing_support::ScratchFolder folder;
  const std::string path = folder.path() / "text.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
            static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  std::ifstream bytes(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(bytes), {}};
}

TEST(RecordReader, ReadsCompressedRecordsBeforeTheOthers) {
  const testing_support::ScratchFolder folder;
  const std::string reached = to_json_line(sample_record());
  const std::string failed = to_json_line(sample_failed_record());
  std::ofstream(folder.path() / "records.jsonl.gz") << compressed(reached);
  EXPECT_EQ(read_records(folder.path()).records.size(), 1U);
  std::ofstream(folder.path() / "records.jsonl") << failed + reached;
  const ReadRecords both = read_records(folder.path());
  ASSERT_EQ(both.records.size(), 2U);
  EXPECT_EQ(both.records[0].run_id, sample_record().run_id);
  ASSERT_EQ(both.warnings.size(), 1U);
  EXPECT_NE(both.warnings[0].find("records.jsonl:2: the same run as line 1 of "), std::string::npos)
      << both.warnings[0];
}

TEST(RecordReader, RefusesDamagedCompressedRecords) {
  const testing_support::ScratchFolder folder;
  const std::string bytes = compressed(to_json_line(sample_record()));
  std::ofstream(folder.path() / "records.jsonl.gz") << bytes.substr(0, bytes.size() / 2);
  const std::string error = error_of_reading(folder.path());
  EXPECT_NE(error.find("records.jsonl.gz:1: "), std::string::npos) << error;
  EXPECT_NE(error.find("fix: compress the records anew"), std::string::npos) << error;
}

TEST(RecordReader, KeepsTheOrderAndSkipsALineThatWasCutShort) {
  const std::string reached = to_json_line(sample_record());
  const std::string failed = to_json_line(sample_failed_record());
  const ReadRecords read =
      read_records(folder_with(failed + "\n" + reached + reached.substr(0, reached.size() / 2)));
  ASSERT_EQ(read.records.size(), 2U);
  EXPECT_EQ(read.records[0].status, Status::Failed);
  EXPECT_EQ(read.records[1].status, Status::Reached);
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_NE(read.warnings[0].find("records.jsonl:4: no record: it is not JSON, or cut short"),
            std::string::npos)
      << read.warnings[0];
}

TEST(RecordReader, GivesDefaultsForFieldsThatOlderRecordsLack) {
  auto json = sample_as_json();
  json["cell"].erase("fusion");
  json["cell"].erase("winograd");
  json.erase("checkpoints");
  json["a field of tomorrow"] = 1;
  const Record record = record_from_json(json.dump());
  EXPECT_EQ(record.cell.fusion, "off");
  EXPECT_EQ(record.cell.winograd, "off");
  EXPECT_EQ(record.checkpoints.written, 0);
  EXPECT_EQ(record.examples_to_target, sample_record().examples_to_target);
}

TEST(RecordReader, ReadsOptionsOfOlderRecordsFromTheirFields) {
  auto json = sample_as_json();
  auto& cell = json["cell"];
  cell.erase("options");
  cell.update({{"all_reduce", nullptr},
               {"bucket_bytes", 4096},
               {"servers", 2},
               {"backup_workers", 0},
               {"staleness_bound", nullptr},
               {"strategy", "parameter_server_async"}});
  EXPECT_EQ(record_from_json(json.dump()).cell.options,
            (OptionValues{{"bucket_bytes", 4096}, {"servers", 2}}));
  cell["strategy"] = "single";
  EXPECT_EQ(record_from_json(json.dump()).cell.options, OptionValues{});
  cell["strategy"] = "all_reduce+model_parallel";
  cell["all_reduce"] = "ring";
  EXPECT_EQ(record_from_json(json.dump()).cell.options,
            (OptionValues{{"all_reduce", "ring"}, {"bucket_bytes", 4096}}));
}

TEST(RecordReader, ReadsTheLengthOfOlderRecordsFromTheirCommand) {
  auto json = sample_as_json();
  json["cell"].erase("steps");
  json["cell"].erase("epochs");
  json["command"] = "regatta run --workload parabola --steps 7 --seed 3";
  EXPECT_EQ(record_from_json(json.dump()).cell.steps, 7);
  json["command"] = "regatta run --workload parabola --epochs=0.5";
  EXPECT_EQ(record_from_json(json.dump()).cell.epochs, 0.5);
  EXPECT_EQ(record_from_json(json.dump()).cell.steps, std::nullopt);
  json["command"] = "regatta run --workload parabola --steps 1e300 --epochs nan";
  EXPECT_EQ(record_from_json(json.dump()).cell.steps, std::nullopt);
  EXPECT_EQ(record_from_json(json.dump()).cell.epochs, std::nullopt);
}

TEST(RecordReader, SaysWhatIsWrongWithALineAndWhere) {
  auto json = sample_as_json();
  json["workers"][1]["steps"] = "twenty";
  EXPECT_NE(warning_for(json.dump()).find("workers[1].steps is not an integer"), std::string::npos);
  json = sample_as_json();
  json["cell"]["seed"] = -1;
  EXPECT_NE(warning_for(json.dump()).find("cell.seed is not an integer, or not one of its range"),
            std::string::npos);
  json = sample_as_json();
  json["cell"]["global_batch"] = std::uint64_t{1} << 63;
  EXPECT_NE(warning_for(json.dump()).find("cell.global_batch is not an integer"),
            std::string::npos);
  json = sample_as_json();
  json["cell"].erase("strategy");
  EXPECT_NE(warning_for(json.dump()).find("it has no cell/strategy"), std::string::npos);
  json = sample_as_json();
  json["status"] = "lost";
  EXPECT_NE(warning_for(json.dump()).find("status is not reached, missed or failed"),
            std::string::npos);
  EXPECT_NE(warning_for("[1]").find("it is not an object"), std::string::npos);
}

TEST(RecordReader, RefusesAVersionThatItDoesNotKnowAndNamesTheLine) {
  for (const std::int64_t version : {std::int64_t{0}, Record::kSchema + 1}) {
    auto json = sample_as_json();
    json["schema"] = version;
    const std::string text = to_json_line(sample_record()) + json.dump() + '\n';
    const std::string error = error_of_reading(folder_with(text));
    EXPECT_NE(error.find("records.jsonl:2: schema " + std::to_string(version) +
                         ", but this program knows 1 to " + std::to_string(Record::kSchema) + ";"),
              std::string::npos)
        << error;
  }
}

TEST(RecordReader, TakesNoOrderOfExamplesFromVersion1) {
  auto json = sample_as_json();
  EXPECT_NE(record_from_json(json.dump()).checksums.data_order, "");
  json["schema"] = 1;
  const Record record = record_from_json(json.dump());
  EXPECT_EQ(record.checksums.data_order, "");
  EXPECT_EQ(record.checksums.initial_weights, sample_record().checksums.initial_weights);
}

TEST(RecordReader, LeavesOutACancelledRunThatWasRunAgain) {
  Record cancelled = sample_failed_record();
  cancelled.failure = Failure{.kind = "cancelled", .text = "its time was over"};
  Record again = sample_failed_record();
  again.run_id = "again";
  const std::string lines = to_json_line(cancelled) + to_json_line(sample_record());
  EXPECT_EQ(read_records(folder_with(lines)).records.size(), 2U);
  const ReadRecords read = read_records(folder_with(lines + to_json_line(again)));
  ASSERT_EQ(read.records.size(), 2U);
  EXPECT_EQ(read.records[0].run_id, sample_record().run_id);
  EXPECT_EQ(read.records[1].run_id, "again");
  EXPECT_TRUE(read.warnings.empty());
}

TEST(RecordReader, LeavesOutARunOfNoStepThatWasRunAgain) {
  Record early = sample_failed_record();
  early.training_ns = 0;
  early.step_time_ns = {};
  early.evaluations.clear();
  Record late = early;
  late.run_id = "late";
  late.training_ns = 1;
  Record again = sample_failed_record();
  again.run_id = "again";
  const auto read = [&](const Record& first) {
    return read_records(folder_with(to_json_line(first) + to_json_line(again))).records.size();
  };
  EXPECT_EQ(read(early), 1U);
  EXPECT_EQ(read(late), 2U);
}

TEST(RecordReader, CountsALineWithoutARunIdOnce) {
  auto json = sample_as_json();
  json.erase("run_id");
  const std::string line = json.dump() + '\n';
  json["cell"]["seed"] = 9;
  const ReadRecords read = read_records(folder_with(line + json.dump() + '\n' + line));
  ASSERT_EQ(read.records.size(), 2U);
  EXPECT_NE(read.records[0].run_id, read.records[1].run_id);
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_NE(read.warnings[0].find("records.jsonl:3: the same run as line 1; skipped"),
            std::string::npos)
      << read.warnings[0];
}

TEST(RecordReader, ReadsSimulatedRunsApartOrBoth) {
  const testing_support::ScratchFolder folder;
  EXPECT_THROW(read_all_records(folder.path()), RunError);
  std::ofstream(folder.path() / "simulated.jsonl") << to_json_line(sample_simulated_record());
  EXPECT_TRUE(records_in(folder.path()).records.empty());
  EXPECT_EQ(records_in(folder.path(), Kept::Simulated).records.size(), 1U);
  EXPECT_EQ(read_all_records(folder.path()).records.size(), 1U);
  std::ofstream(folder.path() / "records.jsonl") << to_json_line(sample_failed_record()) << "{";
  const ReadRecords both = read_all_records(folder.path());
  ASSERT_EQ(both.records.size(), 2U);
  EXPECT_FALSE(both.records[0].simulated);
  EXPECT_EQ(both.records[1].simulated->hardware->latency_ns, 25'000);
  EXPECT_EQ(both.warnings.size(), 1U);
}

TEST(RecordReader, ReadsSimulatedRecordsThatTellNoHardware) {
  auto json = nlohmann::ordered_json::parse(to_json_line(sample_simulated_record()));
  json["simulated"].erase("hardware");
  json["schema"] = 5;
  EXPECT_FALSE(record_from_json(json.dump()).simulated->hardware);
}

TEST(RecordReader, ReadsSimulatedRecordsThatTellNoQueueOrSharedCores) {
  auto json = nlohmann::ordered_json::parse(to_json_line(sample_simulated_record()));
  json["simulated"]["hardware"].erase("queue_bytes");
  json["simulated"]["hardware"].erase("machine_cores");
  json["schema"] = 10;
  const Record record = record_from_json(json.dump());
  EXPECT_FALSE(record.simulated->hardware->queue_bytes);
  EXPECT_FALSE(record.simulated->hardware->machine_cores);
}

TEST(RecordReader, RefusesAFolderWithoutRecords) {
  EXPECT_NE(error_of_reading(folder_with("")).find("holds no whole record"), std::string::npos);
  EXPECT_NE(error_of_reading("/no/such/folder").find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace regatta::record
