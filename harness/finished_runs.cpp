// SPDX-License-Identifier: Apache-2.0
#include "harness/finished_runs.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace regatta {
namespace {

/// Of `regatta run ...`; empty for another command.
std::vector<std::string> arguments_of(const std::string& command) {
  std::istringstream words(command);
  std::string word;
  std::vector<std::string> all;
  while (words >> word) all.push_back(word);
  if (all.size() < 2 || all[1] != "run") return {};
  std::vector<std::string> kept;
  for (std::size_t i = 2; i < all.size(); ++i) {
    if (all[i] == "--out" || all[i] == "--data-dir") {
      ++i;
    } else {
      kept.push_back(all[i]);
    }
  }
  return kept;
}

std::optional<double> number_of(const nlohmann::json& record, const char* field) {
  const auto found = record.find(field);
  if (found == record.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

std::optional<FinishedRun> parse(const std::string& line) {
  const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
  if (!record.is_object()) return std::nullopt;
  FinishedRun run;
  run.arguments = arguments_of(record.value("command", ""));
  if (run.arguments.empty()) return std::nullopt;
  const std::string status = record.value("status", "");
  for (const Status each : {Status::Reached, Status::Missed}) {
    if (status == to_string(each)) run.status = each;
  }
  if (const auto ns = number_of(record, "training_time_to_target_ns")) {
    run.seconds_to_target = *ns * 1e-9;
  }
  const nlohmann::json evaluations = record.value("evaluations", nlohmann::json::array());
  if (!evaluations.empty() && evaluations.back().contains("metric")) {
    run.metric = evaluations.back()["metric"].get<double>();
  }
  run.examples_per_s = number_of(record, "examples_per_s").value_or(0);
  for (const char* part : {"setup_ns", "warmup_ns", "full_ns"}) {
    run.seconds += number_of(record, part).value_or(0) * 1e-9;
  }
  return run;
}

}  // namespace

std::vector<FinishedRun> finished_runs(const std::filesystem::path& folder) {
  std::ifstream file(folder / "records.jsonl");
  std::vector<FinishedRun> runs;
  for (std::string line; std::getline(file, line);) {
    try {
      if (auto run = parse(line)) runs.push_back(std::move(*run));
    } catch (const nlohmann::json::exception&) {  // of another shape than ours: not a run of ours
    }
  }
  return runs;
}

}  // namespace regatta
