// SPDX-License-Identifier: Apache-2.0
//
// The identity of a cell, computed in one place: its name, the key that groups its runs, and the
// conditions that compared runs must share all follow from traits_of(). A new field of Cell becomes
// a trait without a change here.
#pragma once

#include <string>
#include <vector>

#include "harness/record/record.h"

namespace regatta {

struct Trait {
  /// Whether runs that differ in this trait may be compared.
  enum class Role {
    Setting,     ///< their times do not compare: workload, data, dtype, target, ...
    Contestant,  ///< they race: strategy, options, workers, ...
    Resource,    ///< they race with other resources; derived from the rest and the machine
  };
  std::string name;   ///< of the field in results/schema.json; an option has its own name
  std::string value;  ///< readable: `ring`, `1:2.5`, `none`
  Role role = Role::Setting;
  bool is_default = false;  ///< the default, which a name leaves out
};

/// The fields of the cell in the schema's order, options after the strategy, then the target, but
/// not the seed. The result depends only on the record.
std::vector<Trait> traits_of(const Record& record);

/// The cell's name with its differences from the workload's defaults:
/// `resnet9_thin all_reduce (2 workers, dtype=bf16)`.
std::string cell_name(const Record& record);

/// A key that runs of one cell on one kind of machine share.
std::string cell_key(const Record& record);

/// A key shared by runs with comparable times: workload, data, target, length, stragglers, machine.
std::string workload_key(const Record& record);

/// A key shared by cells with equal work and equal cores for each worker, whatever they exchange.
std::string work_key(const Record& record);

/// Formats stragglers in the syntax of --straggler: `1:2.5,2:3`.
std::string straggler_text(const std::vector<Straggler>& stragglers);

/// Names the cores, then a binding CPU limit and GPUs: `2 cores of Intel(R) Xeon(R) Processor`.
std::string machine_name(const MachineFacts& machine);

/// The options of the strategy that differ from their defaults.
OptionValues unusual_options(const Cell& cell);

}  // namespace regatta
