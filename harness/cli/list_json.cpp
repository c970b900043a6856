// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/list_json.h"

#include <nlohmann/json.hpp>

#include "harness/cli/doctor_gpu.h"
#include "harness/matrix/tiers.h"
#include "harness/system/machine.h"
#include "kernels/runtime/gpu_facts.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Option& option, const std::optional<OptionValue>& by_default) {
  Json json = {{"name", option.name}, {"help", option.help}, {"unit", option.unit}};
  json["default"] = nullptr;
  if (by_default) std::visit([&json](const auto& one) { json["default"] = one; }, *by_default);
  if (const auto* choice = std::get_if<Choice>(&option.type)) {
    for (const std::string_view word : choice->words) json["words"].push_back(word);
  }
  if (const auto* count = std::get_if<Count>(&option.type)) {
    json["least"] = count->least;
    json["most"] = count->most;
  }
  if (const auto* real = std::get_if<Real>(&option.type)) {
    json["least"] = real->least;
    json["most"] = real->most;
  }
  return json;
}

Json workloads() {
  Json all = Json::array();
  for (const workloads::Workload& each : workloads::all_workloads()) {
    Json options = Json::array();
    for (const auto& [option, by_default] : each.options) {
      options.push_back(json_of(*option, by_default));
    }
    all.push_back({{"name", each.name},
                   {"summary", each.summary},
                   {"tier", each.tier},
                   {"metric", to_string(each.metric)},
                   {"target", each.target},
                   {"global_batch", each.global_batch},
                   {"data_sets", each.data_sets},
                   {"options", std::move(options)}});
  }
  return all;
}

Json strategies() {
  Json all = Json::array();
  for (const strategies::Strategy* each : strategies::all_strategies()) {
    Json options = Json::array();
    for (const Option* option : each->options) {
      options.push_back(json_of(*option, option->default_value()));
    }
    for (const Option* option : strategies::options_of_passes()) {
      if (strategies::has_default(each->name, *option)) continue;
      options.push_back(json_of(*option, std::nullopt));
    }
    all.push_back({{"name", each->name},
                   {"term", each->term},
                   {"summary", each->summary},
                   {"exchange", to_string(each->exchange)},
                   {"trains", each->trains == strategies::Trains::All ? "all" : "sequences"},
                   {"runs_as", runnable_name(*each)},
                   {"colour", each->colour},
                   {"options", std::move(options)}});
  }
  return all;
}

Json tiers() {
  Json all = Json::array();
  for (const std::string& name : matrix::tier_names()) {
    const matrix::MatrixPlan plan = matrix::tier_plan(name);
    Json cells = Json::array();
    for (const matrix::MatrixCell& cell : plan.cells) cells.push_back(cell.arguments);
    all.push_back({{"name", name},
                   {"summary", matrix::tier_summary(name)},
                   {"seeds", plan.seeds},
                   {"cells", std::move(cells)}});
  }
  return all;
}

Json devices() {
  const system::MachineFacts machine = system::machine_facts();
  Json gpus = Json::array();
  for (const GpuFacts& gpu : find_gpus().gpus) gpus.push_back(to_text(gpu));
  return {{"cpu", machine.cpu},
          {"architecture", machine.architecture},
          {"isa", machine.isa},
          {"cores_available", machine.cores_available},
          {"gpus", gpus}};
}

}  // namespace

void list_as_json(std::ostream& out, const std::string& what) {
  Json json = Json::object();
  if (what.empty() || what == "workloads") json["workloads"] = workloads();
  if (what.empty() || what == "strategies") json["strategies"] = strategies();
  if (what.empty() || what == "tiers") json["tiers"] = tiers();
  if (what.empty() || what == "devices") json["devices"] = devices();
  out << json.dump(2) << '\n';
}

}  // namespace regatta::cli
