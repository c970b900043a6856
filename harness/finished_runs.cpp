// SPDX-License-Identifier: Apache-2.0
#include "harness/finished_runs.h"

#include <algorithm>
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

/// A field of a cell that is not what it mostly is, as ` name=value`.
void name_if(std::string& name, const nlohmann::json& cell, const char* field,
             const nlohmann::json& usual) {
  const nlohmann::json value = cell.value(field, usual);
  if (value == usual) return;
  name += std::string(" ") + field + '=' +
          (value.is_string() ? value.get<std::string>() : value.dump());
}

std::string name_of(const nlohmann::json& cell) {
  std::string name = cell.value("workload", "?") + ' ' + cell.value("strategy", "?") + " x" +
                     std::to_string(cell.value("workers", 1));
  name_if(name, cell, "dtype", "f32");
  name_if(name, cell, "device", "cpu");
  name_if(name, cell, "processes", 1);
  name_if(name, cell, "stages", 1);
  name_if(name, cell, "servers", 0);
  name_if(name, cell, "rate_scale", 1.0);
  name_if(name, cell, "sharing", nullptr);
  name_if(name, cell, "backup_workers", 0);
  name_if(name, cell, "staleness_bound", nullptr);
  name_if(name, cell, "straggler", nlohmann::json::array());
  if (cell.value("strategy", "").find("all_reduce") != std::string::npos) {
    name_if(name, cell, "all_reduce", "ring");
  }
  return name;
}

std::vector<LossSample> losses_of(const nlohmann::json& record) {
  std::vector<LossSample> losses;
  for (const auto& sample : record.value("losses", nlohmann::json::array())) {
    losses.push_back({.examples = sample.at("examples"), .loss = sample.at("loss")});
  }
  return losses;
}

/// What says which cell and seed the run was of, and what it began with.
void identify(const nlohmann::json& record, FinishedRun& run) {
  const nlohmann::json& cell = record["cell"];
  run.name = name_of(cell);
  run.strategy = cell.value("strategy", "");
  run.dtype = cell.value("dtype", "f32");
  run.backup_workers = cell.value("backup_workers", std::int64_t{0});
  run.global_batch = cell.value("global_batch", std::int64_t{0});
  run.seed = cell.value("seed", std::uint64_t{0});
  const nlohmann::json checksums = record.value("checksums", nlohmann::json::object());
  run.checksums = {.initial_weights = checksums.value("initial_weights", ""),
                   .data_order = checksums.value("data_order", "")};
}

std::optional<FinishedRun> parse(const std::string& line) {
  const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
  if (!record.is_object()) return std::nullopt;
  FinishedRun run;
  run.arguments = arguments_of(record.value("command", ""));
  if (run.arguments.empty() || !record.contains("cell")) return std::nullopt;
  identify(record, run);
  nlohmann::json cell = record["cell"];
  cell.erase("seed");
  cell["target"] = record.value("target", nlohmann::json());
  for (const char* flag : {"--steps", "--epochs"}) {  // a cell does not say its length
    const auto at = std::find(run.arguments.begin(), run.arguments.end(), flag);
    if (at == run.arguments.end() || at + 1 == run.arguments.end()) continue;
    cell[flag] = *(at + 1);
    run.name += ' ' + std::string(flag + 2) + '=' + *(at + 1);
  }
  run.cell = cell.dump();
  const std::string status = record.value("status", "");
  for (const Status each : {Status::Reached, Status::Missed}) {
    if (status == to_string(each)) run.status = each;
  }
  if (const auto ns = number_of(record, "training_time_to_target_ns")) {
    run.seconds_to_target = *ns * 1e-9;
  }
  run.examples_to_target = number_of(record, "examples_to_target");
  const nlohmann::json evaluations = record.value("evaluations", nlohmann::json::array());
  if (!evaluations.empty()) {
    run.metric = number_of(evaluations.back(), "metric");
    run.last_loss = number_of(evaluations.back(), "loss");
  }
  run.losses = losses_of(record);
  run.examples_per_s = number_of(record, "examples_per_s").value_or(0);
  const nlohmann::json steps = record.value("step_time_ns", nlohmann::json::object());
  if (const auto ns = number_of(steps, "p50")) run.median_step_s = *ns * 1e-9;
  for (const char* part : {"setup_ns", "warmup_ns", "full_ns"}) {
    run.seconds += number_of(record, part).value_or(0) * 1e-9;
  }
  return run;
}

}  // namespace

FinishedRuns finished_runs(const std::filesystem::path& folder) {
  std::ifstream file(folder / "records.jsonl");
  FinishedRuns result;
  for (std::string line; std::getline(file, line);) {
    std::optional<FinishedRun> run;
    try {
      run = parse(line);
    } catch (const nlohmann::json::exception&) {  // of another shape than ours
    }
    if (run) {
      result.runs.push_back(std::move(*run));
    } else {
      ++result.other_lines;
    }
  }
  return result;
}

}  // namespace regatta
