// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/cell_identity.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/system/number.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

#include "harness/system/terminal.h"

namespace regatta::judge {
namespace {

/// Finds the cell's workload; null if this program no longer has it.
const workloads::Workload* workload_of(const record::Cell& cell) {
  for (const workloads::Workload& workload : workloads::all_workloads()) {
    if (workload.name == cell.workload) return &workload;
  }
  return nullptr;
}

/// The defaults of the workload's options.
OptionValues usual_options(const workloads::Workload* workload) {
  return workload == nullptr ? OptionValues{} : workloads::with_defaults(*workload, {}).given;
}

/// The cell of a request with only workload, strategy and workers.
record::Cell default_cell(const record::Cell& cell, const workloads::Workload* workload) {
  record::Cell defaults;
  defaults.workload = cell.workload;
  defaults.strategy = cell.strategy;
  defaults.workers = cell.workers;
  const std::int64_t replicas = cell.workers / std::max<std::int64_t>(cell.stages, 1);
  if (workload != nullptr) {
    defaults.recipe = workload->recipe;
    defaults.dataset = workload->data_sets.front();
    defaults.global_batch = workloads::default_global_batch(*workload, replicas);
  }
  if (cell.cuda_graph) defaults.cuda_graph = "on";
  if (cell.cudnn_engine) defaults.cudnn_engine = "timed";
  if (cell.gpus) defaults.gpus = cell.workers;
  return defaults;
}

/// Adds a trait for each option. A workload's options are settings of the workload, because their
/// values change the model; a strategy's options belong to the part of the field.
void add_options(const record::Cell& cell, const workloads::Workload* workload,
                 record::CellPart part, std::vector<Trait>& traits) {
  const OptionValues usual = usual_options(workload), unusual = unusual_options(cell);
  for (const auto& [name, value] : options_of(cell)) {
    const auto own = usual.find(name);
    const bool is_own = own != usual.end();
    traits.push_back(
        {.name = name,
         .value = to_text(value),
         .part = is_own ? record::CellPart{.reach = record::CellPart::Reach::Workload} : part,
         .is_default = is_own ? value == own->second : !unusual.contains(name)});
  }
}

/// Names the cell by the traits that count and differ from the defaults.
std::string name_of(const record::Record& record, const auto& counts) {
  const record::Cell& cell = record.cell;
  std::vector<std::string> settings = {system::plural(cell.workers, "worker")};
  for (const Trait& trait : traits_of(record)) {
    if (trait.is_default || !counts(trait)) continue;
    settings.push_back(fmt::format("{}={}", trait.name, trait.value));
  }
  return system::one_line(
      fmt::format("{} {} ({})", cell.workload, cell.strategy, fmt::join(settings, ", ")));
}

std::string key_of(const record::Record& record, const auto& counts) {
  std::string key = machine_name(record.machine);
  for (const Trait& trait : traits_of(record)) {
    if (counts(trait)) key += fmt::format("|{}={}", trait.name, trait.value);
  }
  return key;
}

}  // namespace

std::vector<Trait> traits_of(const record::Record& record) {
  const workloads::Workload* const workload = workload_of(record.cell);
  const record::Cell defaults = default_cell(record.cell, workload);
  const std::vector<record::CellText> usual = record::texts_of(defaults);
  std::vector<Trait> traits;
  auto same = usual.begin();
  for (const record::CellText& each : record::texts_of(record.cell)) {
    const bool is_default = each.text == (same++)->text;
    if (each.name == "options") {
      add_options(record.cell, workload, each.part, traits);
    } else if (each.part.role != record::CellPart::Role::Seed) {
      traits.push_back(
          {.name = each.name, .value = each.text, .part = each.part, .is_default = is_default});
    }
  }
  const auto target = workload != nullptr ? workload->target_on(record.cell.dataset) : 0;
  traits.push_back({.name = "target",
                    .value = fmt::format("{}", record.target.value),
                    .part = {.reach = record::CellPart::Reach::Workload},
                    .is_default = record.target.value == target});
  return traits;
}

std::string cell_name(const record::Record& record) {
  return name_of(record, [](const Trait& trait) {
    return trait.part.role != Trait::Role::Resource || trait.name == "gpus";
  });
}

std::string request_key(const record::Record& record) {
  return name_of(record, [](const Trait& trait) {
    return trait.part.ranks == record::CellPart::Ranks::Agree;
  });
}

std::string cell_key(const record::Record& record) {
  return key_of(record, [](const Trait&) { return true; });
}

std::string workload_key(const record::Record& record) {
  return key_of(record, [](const Trait& trait) {
    return trait.part.reach == record::CellPart::Reach::Workload;
  });
}

std::string work_key(const record::Record& record) {
  return key_of(record, [](const Trait& trait) {
    return trait.part.role != Trait::Role::Contestant || trait.name == "workers";
  });
}

std::string machine_name(const system::MachineFacts& machine) {
  std::string name =
      fmt::format("{} of {}", system::plural(machine.cores_used, "core"), machine.cpu);
  if (machine.cpu_quota && *machine.cpu_quota < static_cast<double>(machine.cores_available)) {
    name += fmt::format(" at a limit of {:g}", *machine.cpu_quota);
  }
  for (const std::string& gpu : machine.gpus) name += ", " + gpu;
  return name;
}

OptionValues options_of(const record::Cell& cell) {
  OptionValues options = cell.options;
  options.merge(usual_options(workload_of(cell)));
  return options;
}

OptionValues unusual_options(const record::Cell& cell) {
  OptionValues unusual = cell.options;
  for (const auto& [name, value] : usual_options(workload_of(cell))) unusual.erase(name);
  for (const Option* option : strategies::all_options()) {
    const auto found = unusual.find(option->name);
    if (found != unusual.end() && strategies::has_default(cell.strategy, *option) &&
        found->second == option->default_value()) {
      unusual.erase(found);
    }
  }
  return unusual;
}

}  // namespace regatta::judge
