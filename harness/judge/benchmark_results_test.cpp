// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/benchmark_results.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "harness/system/folder_for_test.h"
#include "kernels/base/error.h"

namespace regatta::judge {
namespace {

/// The format of Google Benchmark 1.7, without the fields that are not read here.
std::string json_of(const std::string& rows) {
  return R"({"context": {"executable": "./build/bin/all_reduce_bench", "num_cpus": 2},)"
         R"( "benchmarks": [)" +
         rows + "]}";
}

std::string row(const std::string& name, const std::string& rest) {
  return R"({"name": ")" + name + R"(", "run_name": ")" + name +
         R"(", "run_type": "iteration", "iterations": 9, )" + rest + "}";
}

class Folder : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

  const testing_support::ScratchFolder folder_;
  const std::filesystem::path& path_ = folder_.path();
};

using BenchmarkResults = Folder;

TEST_F(BenchmarkResults, AreRepetitionsOverAllFilesOfAFolder) {
  const std::string one = row("ring/64", R"("real_time": 7, "cpu_time": 2, "time_unit": "us")");
  const std::string mean = R"({"name": "ring/64_mean", "run_name": "ring/64", "run_type":)"
                           R"( "aggregate", "real_time": 9, "cpu_time": 9, "time_unit": "us"})";
  write("a.json", json_of(one + "," + one + "," + mean));
  write("b.json", json_of(one));
  write("notes.txt", "no JSON");
  const auto results = read_benchmarks(path_);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].program, "all_reduce_bench");
  EXPECT_EQ(results[0].name, "ring/64");
  EXPECT_EQ(results[0].seconds, (std::vector<double>{2e-6, 2e-6, 2e-6}));
}

TEST_F(BenchmarkResults, GoByTheTimeThatTheBenchmarkGoesBy) {
  const std::string times = R"("real_time": 7, "cpu_time": 2, "label": "l", "time_unit": ")";
  const auto results = read_benchmarks(write(
      "a.json", json_of(row("a/real_time/threads:2", times + "ms\"") + "," +
                        row("b/manual_time", times + "s\"") + "," + row("c", times + "ns\""))));
  ASSERT_EQ(results.size(), 3U);
  EXPECT_DOUBLE_EQ(results[0].seconds.at(0), 7e-3);
  EXPECT_DOUBLE_EQ(results[1].seconds.at(0), 7);
  EXPECT_DOUBLE_EQ(results[2].seconds.at(0), 2e-9);
  EXPECT_EQ(results[2].label, "l");
}

TEST_F(BenchmarkResults, CountRepetitionsThatFailed) {
  const auto results = read_benchmarks(write(
      "a.json", json_of(row("a", R"("error_occurred": true, "error_message": "no", "real_time": 0,)"
                                 R"( "cpu_time": 0, "time_unit": "ns")"))));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].failed, 1U);
  EXPECT_TRUE(results[0].seconds.empty());
}

TEST_F(BenchmarkResults, NameTheFileThatIsNone) {
  for (const char* text : {"", "{\"benchmarks\": []}", "[1]", "{\"context\": {\"executable\"",
                           "{\"context\":{\"executable\":\"x\"},\"benchmarks\":[{}]}"}) {
    const auto path = write("broken.json", text);
    try {
      read_benchmarks(path);
      ADD_FAILURE() << text << " was read";
    } catch (const RunError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Data);
      EXPECT_NE(std::string(error.what()).find("broken.json"), std::string::npos);
    }
  }
  const std::string odd = row("a", R"("real_time": 1, "cpu_time": 1, "time_unit": "weeks")");
  EXPECT_THROW(read_benchmarks(write("broken.json", json_of(odd))), RunError);
}

}  // namespace
}  // namespace regatta::judge
