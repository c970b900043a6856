// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/cell_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/record/record_fields.h"
#include "harness/system/number.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

#include "harness/system/terminal.h"

namespace regatta {
namespace {

constexpr std::array<std::string_view, 6> kContestant = {"strategy", "options",   "workers",
                                                         "stages",   "processes", "straggler"};
constexpr std::array<std::string_view, 4> kResources = {"threads_per_worker", "oversubscribed",
                                                        "gpus", "shared_gpu"};
constexpr std::array<std::string_view, 9> kOfWorkload = {"workload",        "recipe", "dataset",
                                                         "unverified_data", "steps",  "epochs",
                                                         "evaluate",        "target", "straggler"};

template <std::size_t n>
bool is_among(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Trait::Role role_of(std::string_view name) {
  if (is_among(kContestant, name)) return Trait::Role::Contestant;
  return is_among(kResources, name) ? Trait::Role::Resource : Trait::Role::Setting;
}

std::string text_of(const std::string& value) { return value; }
std::string text_of(bool value) { return value ? "yes" : "no"; }
std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
std::string text_of(std::uint64_t value) { return fmt::format("{}", value); }
template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? text_of(*value) : "none";
}
std::string text_of(const std::vector<Straggler>& stragglers) { return straggler_text(stragglers); }
std::string text_of(const OptionValues&) { return ""; }  // each is a trait of its own

/// Finds the cell's workload; null if this program no longer has it.
const Workload* workload_of(const Cell& cell) {
  for (const Workload& workload : all_workloads()) {
    if (workload.name == cell.workload) return &workload;
  }
  return nullptr;
}

/// The cell with nothing but workload, strategy and workers requested.
Cell default_cell(const Cell& cell, const Workload* workload) {
  Cell defaults;
  defaults.workload = cell.workload;
  defaults.strategy = cell.strategy;
  defaults.workers = cell.workers;
  const std::int64_t replicas = cell.workers / std::max<std::int64_t>(cell.stages, 1);
  if (workload != nullptr) {
    defaults.recipe = workload->recipe;
    defaults.dataset = workload->data_sets.front();
    defaults.global_batch = default_global_batch(*workload, replicas);
  }
  if (cell.cuda_graph) defaults.cuda_graph = "on";
  if (cell.cudnn_engine) defaults.cudnn_engine = "timed";
  if (cell.gpus) defaults.gpus = cell.workers;
  return defaults;
}

void add_options(const Cell& cell, std::vector<Trait>& traits) {
  const OptionValues unusual = unusual_options(cell);
  for (const auto& [name, value] : cell.options) {
    traits.push_back({.name = name,
                      .value = to_text(value),
                      .role = Trait::Role::Contestant,
                      .is_default = !unusual.contains(name)});
  }
}

std::string key_of(const Record& record, const auto& counts) {
  std::string key = machine_name(record.machine);
  for (const Trait& trait : traits_of(record)) {
    if (counts(trait)) key += fmt::format("|{}={}", trait.name, trait.value);
  }
  return key;
}

}  // namespace

std::vector<Trait> traits_of(const Record& record) {
  const Workload* const workload = workload_of(record.cell);
  const Cell defaults = default_cell(record.cell, workload);
  std::vector<std::string> default_values;
  for_each_field(defaults,
                 [&](const char*, const auto& value) { default_values.push_back(text_of(value)); });
  std::vector<Trait> traits;
  std::size_t at = 0;
  for_each_field(record.cell, [&](const std::string& name, const auto& value) {
    const std::string text = text_of(value);
    const bool is_default = text == default_values[at++];
    if (name == "options") {
      add_options(record.cell, traits);
    } else if (name != "seed") {
      traits.push_back(
          {.name = name, .value = text, .role = role_of(name), .is_default = is_default});
    }
  });
  const double target = workload != nullptr ? workload->target : 0;
  traits.push_back({.name = "target",
                    .value = text_of(record.target.value),
                    .role = Trait::Role::Setting,
                    .is_default = record.target.value == target});
  return traits;
}

std::string cell_name(const Record& record) {
  const Cell& cell = record.cell;
  std::vector<std::string> settings = {plural(cell.workers, "worker")};
  for (const Trait& trait : traits_of(record)) {
    const bool follows = trait.role == Trait::Role::Resource && trait.name != "gpus";
    if (!trait.is_default && !follows) {
      settings.push_back(fmt::format("{}={}", trait.name, trait.value));
    }
  }
  return one_line(
      fmt::format("{} {} ({})", cell.workload, cell.strategy, fmt::join(settings, ", ")));
}

std::string cell_key(const Record& record) {
  return key_of(record, [](const Trait&) { return true; });
}

std::string workload_key(const Record& record) {
  return key_of(record, [](const Trait& trait) { return is_among(kOfWorkload, trait.name); });
}

std::string work_key(const Record& record) {
  return key_of(record, [](const Trait& trait) {
    return trait.role != Trait::Role::Contestant || trait.name == "workers";
  });
}

std::string straggler_text(const std::vector<Straggler>& stragglers) {
  std::vector<std::string> texts;
  for (const Straggler& each : stragglers) {
    texts.push_back(fmt::format("{}:{}", each.worker, each.factor));
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string machine_name(const MachineFacts& machine) {
  std::string name = fmt::format("{} of {}", plural(machine.cores_used, "core"), machine.cpu);
  if (machine.cpu_quota && *machine.cpu_quota < static_cast<double>(machine.cores_available)) {
    name += fmt::format(" at a limit of {:g}", *machine.cpu_quota);
  }
  for (const std::string& gpu : machine.gpus) name += ", " + gpu;
  return name;
}

OptionValues unusual_options(const Cell& cell) {
  OptionValues unusual = cell.options;
  for (const Option* option : all_options()) {
    const auto found = unusual.find(option->name);
    if (found != unusual.end() && found->second == option->default_value()) unusual.erase(found);
  }
  return unusual;
}

}  // namespace regatta
