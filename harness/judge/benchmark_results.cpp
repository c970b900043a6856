// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/benchmark_results.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/system/input_file.h"
#include "kernels/base/error.h"

namespace regatta::judge {
namespace {

constexpr std::uintmax_t kMostBytes = std::uintmax_t{256} << 20;

double seconds_in(const std::string& unit) {
  static const std::map<std::string, double> kUnits = {
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  return kUnits.at(unit);
}

double seconds_of(const nlohmann::json& row, const std::string& name) {
  const bool real = name.find("/real_time") != std::string::npos ||
                    name.find("/manual_time") != std::string::npos;
  return row.at(real ? "real_time" : "cpu_time").get<double>() * seconds_in(row.at("time_unit"));
}

void add(const nlohmann::json& row, const std::string& program,
         std::vector<BenchmarkResult>& results) {
  if (row.at("run_type") != "iteration") return;
  const std::string name = row.at("run_name");
  auto found = std::find_if(results.begin(), results.end(), [&](const BenchmarkResult& each) {
    return each.program == program && each.name == name;
  });
  if (found == results.end()) {
    results.push_back({.program = program, .name = name, .label = row.value("label", "")});
    found = std::prev(results.end());
  }
  if (row.value("error_occurred", false) || row.contains("skipped")) {
    ++found->failed;
  } else {
    found->seconds.push_back(seconds_of(row, name));
  }
}

void add_file(const std::filesystem::path& path, std::vector<BenchmarkResult>& results) {
  try {
    const nlohmann::json json = nlohmann::json::parse(system::text_of(path, kMostBytes));
    const std::filesystem::path program = json.at("context").at("executable").get<std::string>();
    for (const nlohmann::json& row : json.at("benchmarks")) add(row, program.filename(), results);
  } catch (const std::exception& error) {
    throw RunError(ErrorKind::Data, path.string() +
                                        " is no JSON of Google Benchmark (--benchmark_out=FILE "
                                        "makes one): " +
                                        error.what());
  }
}

}  // namespace

std::vector<BenchmarkResult> read_benchmarks(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> files;
  if (system::is_folder(path)) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    if (error) throw RunError(ErrorKind::Data, path.string() + ": " + error.message());
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  std::vector<BenchmarkResult> results;
  for (const auto& file : files) add_file(file, results);
  return results;
}

}  // namespace regatta::judge
