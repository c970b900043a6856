// SPDX-License-Identifier: Apache-2.0
//
// Tests the contents of exports, from made-up records. export_test.py checks whole files against
// the rules of each format.
#include "harness/export/export.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/record/sample_record.h"
#include "kernels/base/error_for_test.h"

namespace regatta::exports {
namespace {

using regatta::testing_support::error_of;

using Json = nlohmann::json;

const Submission kSubmission{.author = "A. U. Thor", .author_email = "a@example.org"};

/// A run of `single` on resnet9_thin that trained 100 examples a second, 10 s per thousand.
record::Record run(std::uint64_t seed, std::optional<std::int64_t> examples_to_target) {
  record::Record record;
  record.timestamp = "2025-01-31T12:00:00Z";
  record.cell = {.workload = "resnet9_thin",
                 .recipe = 2,
                 .dataset = "shapes",
                 .strategy = "single",
                 .global_batch = 64,
                 .straggler = {},
                 .seed = seed};
  record.target = {.metric = "accuracy", .value = 60};
  record.status = examples_to_target ? record::Status::Reached : record::Status::Missed;
  record.examples_to_target = examples_to_target;
  if (examples_to_target) record.training_time_to_target_ns = *examples_to_target * 10'000'000;
  record.examples_per_s = 100;
  for (std::int64_t thousands = 0; thousands <= 4; ++thousands) {
    record.evaluations.push_back({.examples = 1000 * thousands,
                                  .epoch = 0.25 * static_cast<double>(thousands),
                                  .training_time_ns = thousands * 10'000'000'000,
                                  .full_time_ns = thousands * 11'000'000'000,
                                  .loss = 1,
                                  .metric = 24.0 * static_cast<double>(thousands)});
  }
  record.setup_ns = 2'000'000'000;
  record.warmup_ns = 500'000'000;
  record.training_ns = 40'000'000'000;
  record.full_ns = 44'000'000'000;
  record.machine = {.cpu = "A CPU", .cores_used = 2};
  return record;
}

record::Record failed_run(std::uint64_t seed) {
  record::Record record = run(seed, {});
  record.status = record::Status::Failed;
  record.failure = record::Failure{.kind = "diverged", .text = "step 7: \"nan\",\nnot finite"};
  return record;
}

record::Record on_cifar10(std::uint64_t seed) {
  record::Record record = run(seed, 4000);
  record.cell.workload = "airbench94";
  record.cell.recipe = 1;
  record.cell.dataset = "cifar10";
  record.target.value = 90;
  return record;
}

const std::string& text_of(const Export& result, const std::string& path) {
  static const std::string none;
  for (const ExportedFile& file : result.files) {
    if (file.path == path) return file.text;
  }
  ADD_FAILURE() << "no file " << path;
  return none;
}

/// The parsed lines of an MLPerf log.
std::vector<Json> lines_of(const std::string& log) {
  std::vector<Json> lines;
  std::istringstream stream(log);
  for (std::string line; std::getline(stream, line);) {
    const std::string begin = ":::MLLOG ";
    EXPECT_EQ(line.substr(0, begin.size()), begin);
    lines.push_back(Json::parse(line.substr(begin.size())));
  }
  return lines;
}

std::vector<Json> with_key(const std::vector<Json>& lines, const std::string& key) {
  std::vector<Json> found;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(found),
               [&](const Json& line) { return line["key"] == key; });
  return found;
}

std::vector<std::string> rows_of(const std::string& text, const std::string& end) {
  std::vector<std::string> rows;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(text.find(end, at), text.size());
    rows.push_back(text.substr(at, stop - at));
    at = stop + end.size();
  }
  return rows;
}

std::string usage_error(const ExportRequest& request) {
  return error_of([&] { run_export(request); }, ErrorKind::Usage);
}

TEST(CellMeasures, CountMissedAndFailedRunsAsInfinite) {
  std::vector<record::Record> records = {run(1, 1000), failed_run(2), run(3, {}), run(4, 2000),
                                         run(5, 3000)};
  records[1].examples_per_s = 7;
  const std::vector<judge::CellRuns> cells = judge::runs_by_cell(records);
  ASSERT_EQ(cells.size(), 1U);
  const judge::CellMeasures measures = judge::measures_of(cells.front());
  EXPECT_EQ(measures.reached, 3);
  EXPECT_DOUBLE_EQ(measures.seconds_to_target->median, 30);
  EXPECT_DOUBLE_EQ(measures.seconds_to_target->low, 10);
  EXPECT_TRUE(std::isinf(measures.seconds_to_target->high));
  EXPECT_DOUBLE_EQ(measures.examples_to_target->median, 3000);
  EXPECT_DOUBLE_EQ(measures.examples_per_s->low, 100);  // without the failed run
}

TEST(ExportBmf, LeavesOutWhatIsInfinite) {
  const std::vector<record::Record> some = {run(1, 1000), run(2, {}), run(3, 3000)};
  const Json cell =
      Json::parse(export_bmf(some, {}).files.front().text)["resnet9_thin single (1 worker)"];
  EXPECT_EQ(cell["training-time-to-target-s"], Json({{"value", 30.0}, {"lower_value", 10.0}}));
  const std::vector<record::Record> few = {run(1, 1000), run(2, {}), run(3, {})};
  const Export result = export_bmf(few, {});
  const Json other = Json::parse(result.files.front().text)["resnet9_thin single (1 worker)"];
  EXPECT_EQ(other.size(), 1U);
  EXPECT_EQ(other["throughput"]["value"], 100.0);
  ASSERT_EQ(result.left_out.size(), 1U);
  EXPECT_NE(result.left_out.front().find("1 of 3 runs reached the target"), std::string::npos);
}

TEST(ExportBmf, MakesNoClaimForIndependent) {
  std::vector<record::Record> records = {run(1, 1000)};
  records.front().cell.strategy = "independent+model_parallel";
  const Json json = Json::parse(export_bmf(records, {}).files.front().text);
  EXPECT_EQ(json.begin()->size(), 1U);
  EXPECT_TRUE(json.begin()->contains("throughput"));
}

TEST(ExportBmf, RefusesRecordsOfSeveralMachines) {
  std::vector<record::Record> records = {run(1, 1000), run(2, 1000)};
  records[1].machine.cores_used = 1;
  EXPECT_THROW(export_bmf(records, {}), RunError);
}

TEST(ExportGithub, SplitsByWhichDirectionIsBetter) {
  const std::vector<record::Record> records = {run(1, 1000), run(2, 2000), run(3, {})};
  const Export result = export_github(records, {});
  const Json smaller = Json::parse(text_of(result, "smaller_is_better.json"));
  const Json bigger = Json::parse(text_of(result, "bigger_is_better.json"));
  ASSERT_EQ(smaller.size(), 1U);
  EXPECT_EQ(smaller[0]["value"], 20.0);
  EXPECT_EQ(smaller[0]["unit"], "s");
  EXPECT_EQ(smaller[0]["range"], "10 to inf covers the median with 75 %");
  EXPECT_EQ(bigger[0]["value"], 100.0);
  EXPECT_EQ(bigger[0]["unit"], "examples/s");
}

TEST(ExportGbench, ARunIsARepetitionAndAStepAnIteration) {
  const std::vector<record::Record> records = {run(1, 1000), run(2, {})};
  const Json json = Json::parse(export_gbench(records, {}).files.front().text);
  const Json& first = json["benchmarks"][0];
  EXPECT_EQ(first["real_time"], 640e6);  // 64 examples at 100 a second
  EXPECT_EQ(first["iterations"], 63);
  EXPECT_EQ(first["repetitions"], 2);
  EXPECT_EQ(first["seconds_to_target"], 10.0);
  EXPECT_FALSE(json["benchmarks"][1].contains("seconds_to_target"));
  EXPECT_EQ(json["benchmarks"][1]["repetition_index"], 1);
}

TEST(ExportGbench, MarksAFailedRun) {
  const std::vector<record::Record> records = {failed_run(1)};
  const Json json = Json::parse(export_gbench(records, {}).files.front().text);
  EXPECT_EQ(json["benchmarks"][0]["error_occurred"], true);
  EXPECT_EQ(json["benchmarks"][0]["error_message"], "diverged: step 7: \"nan\",\nnot finite");
}

TEST(ExportCsv, QuotesWhatNeedsIt) {
  const std::vector<record::Record> records = {failed_run(1)};
  const std::string text = export_csv(records, {}).files.front().text;
  EXPECT_NE(text.find(",failed,diverged,\"step 7: \"\"nan\"\",\nnot finite\",accuracy,60,"),
            std::string::npos)
      << text;
}

TEST(ExportCsv, TellsInOneColumnWhatKernelsComputeBy) {
  std::vector<record::Record> records = {run(1, {})};
  records.front().kernels = {{.node = "dense a", .choice = "tiles, ours"},
                             {.node = "dense b", .choice = "engine 4"}};
  const std::string text = export_csv(records, {}).files.front().text;
  EXPECT_NE(text.find(",memory.peak_rss_bytes,kernels,checkpoints.written,"), std::string::npos);
  EXPECT_NE(text.find(",\"dense a=tiles, ours; dense b=engine 4\","), std::string::npos) << text;
}

TEST(ExportCsv, HasTheSameColumnsForEveryRun) {
  const std::vector<record::Record> records = {record::sample_record(),
                                               record::sample_failed_record(), run(1, {})};
  const std::vector<std::string> rows = rows_of(export_csv(records, {}).files.front().text, "\r\n");
  ASSERT_EQ(rows.size(), 4U);
  const auto columns = [](const std::string& row) {
    bool in_quotes = false;
    return 1 + std::count_if(row.begin(), row.end(), [&in_quotes](char c) {
             if (c == '"') in_quotes = !in_quotes;
             return c == ',' && !in_quotes;
           });
  };
  for (const std::string& row : rows) EXPECT_EQ(columns(row), columns(rows.front())) << row;
}

TEST(ExportDawnbench, HasAnEntryForEachRunAtItsTarget) {
  std::vector<record::Record> records = {on_cifar10(1), run(2, 1000), on_cifar10(3), on_cifar10(4),
                                         on_cifar10(1)};
  records[2].evaluations.back().metric = 93.99;  // above its own target
  records[3].status = record::Status::Failed;
  const Export result = export_dawnbench(records, kSubmission);
  ASSERT_EQ(result.files.size(), 4U);
  EXPECT_EQ(result.left_out.size(), 3U);
  const std::string name =
      "CIFAR10/train/A.-U.-Thor_airbench94-single-1-worker-global-batch-64-target-90-seed-1_"
      "2-cores-of-A-CPU_regatta";
  EXPECT_EQ(text_of(result, name + ".tsv"),
            "epoch\thours\ttop1Accuracy\n"
            "0.25\t0.002777777777777778\t24\n"
            "0.5\t0.005555555555555556\t48\n"
            "0.75\t0.008333333333333333\t72\n"
            "1\t0.011111111111111112\t96\n");
  const Json json = Json::parse(text_of(result, name + ".json"));
  EXPECT_EQ(json["authorEmail"], "a@example.org");
  EXPECT_EQ(json["timestamp"], "2025-01-31");
  EXPECT_FALSE(json.contains("costPerHour"));
  EXPECT_FALSE(json.contains("commitHash"));  // the record has none
  EXPECT_FALSE(text_of(result, name + "-run2.tsv").empty());
}

TEST(ExportMllog, StopsWhenTheTargetIsReached) {
  const std::vector<record::Record> records = {run(1, 2000)};
  const Export result = export_mllog(records, kSubmission);
  const auto lines = lines_of(text_of(result, "resnet9-thin-single-1-worker/result_0.txt"));
  const Json start = with_key(lines, "run_start").front();
  const Json stop = with_key(lines, "run_stop").front();
  EXPECT_EQ(start["time_ms"], 1738324802500);  // 12:00:02.5
  EXPECT_EQ(stop["time_ms"].get<std::int64_t>() - start["time_ms"].get<std::int64_t>(), 22'000);
  EXPECT_EQ(stop["metadata"]["status"], "success");
  EXPECT_EQ(lines.back(), stop);
  const auto judged = with_key(lines, "eval_accuracy");
  ASSERT_EQ(judged.size(), 2U);
  EXPECT_EQ(judged[1]["value"], 0.48);
  EXPECT_EQ(judged[1]["metadata"]["samples_count"], 2000);
  const Json evaluating = with_key(lines, "eval_start").back();
  EXPECT_EQ(evaluating["time_ms"].get<std::int64_t>() - start["time_ms"].get<std::int64_t>(),
            21'000);  // 11 s, then 10 s of training
  EXPECT_EQ(with_key(lines, "train_samples").front()["value"], 4096);
  EXPECT_EQ(with_key(lines, "cache_clear").front()["value"], false);
}

TEST(ExportMllog, AbortsWhatMissedOrFailed) {
  const std::vector<record::Record> records = {run(1, {}), failed_run(2)};
  const Export result = export_mllog(records, kSubmission);
  ASSERT_EQ(result.files.size(), 2U);
  for (const ExportedFile& file : result.files) {
    const auto lines = lines_of(file.text);
    EXPECT_EQ(lines.back()["metadata"]["status"], "aborted");
    EXPECT_EQ(lines.back()["time_ms"], 1738324802500 + 44'000);
  }
}

TEST(ExportMllog, HasNoLogWhereTrainingNeverBegan) {
  std::vector<record::Record> records = {record::sample_failed_record(), run(1, 1000)};
  records[1].timestamp = "yesterday";
  const Export result = export_mllog(records, kSubmission);
  EXPECT_TRUE(result.files.empty());
  EXPECT_EQ(result.left_out.size(), 2U);
}

TEST(Export, NeedsFlagsForWhatNoRecordHolds) {
  EXPECT_EQ(usage_error({.folder = "x", .format = "dawnbench", .out = "y", .submission = {}}),
            "--format dawnbench needs --author, which no record holds");
  EXPECT_EQ(usage_error({.folder = "x", .format = "mllog", .out = {}, .submission = kSubmission}),
            "--format mllog has no place for --author-email");
  EXPECT_EQ(usage_error({.folder = "x", .format = "github", .out = {}, .submission = {}}),
            "--format github is several files; fix: name a new folder with --out");
  EXPECT_NE(usage_error({.folder = "x", .format = "csvs", .out = {}, .submission = {}})
                .find("did you mean 'csv'?"),
            std::string::npos);
}

}  // namespace
}  // namespace regatta::exports
