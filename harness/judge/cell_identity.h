// SPDX-License-Identifier: Apache-2.0
//
// What tells one cell from another, computed in one place: its name, the key by which runs are put
// together, and what runs that are compared must share all follow from traits_of(). A new field of
// Cell is a trait without a change here.
#pragma once

#include <string>
#include <vector>

#include "harness/record/record.h"

namespace regatta {

struct Trait {
  /// What a comparison may do with runs that differ in it.
  enum class Role {
    Setting,     ///< their times do not compare: workload, data, dtype, target, ...
    Contestant,  ///< they race: strategy, options, workers, ...
    Resource,    ///< they race with other resources; it follows from the rest and the machine
  };
  std::string name;   ///< of the field in results/schema.json; an option has its own name
  std::string value;  ///< readable: `ring`, `1:2.5`, `none`
  Role role = Role::Setting;
  bool usual = false;  ///< what a user gets without asking for it, so that a name leaves it out
};

/// The fields of the cell in the schema's order, options after the strategy, then the target. The
/// seed is none. They depend on nothing but the record.
std::vector<Trait> traits_of(const Record& record);

/// `resnet9_thin all_reduce (2 workers, dtype=bf16)`: what is not as usual for the workload
/// follows.
std::string cell_name(const Record& record);

/// Equal for runs of one cell on one kind of machine.
std::string cell_key(const Record& record);

/// Equal where times may be compared: workload, data, target, length, stragglers and machine.
std::string workload_key(const Record& record);

/// Equal where as many workers compute the same with the same cores, however they exchange.
std::string work_key(const Record& record);

/// As --straggler takes them: `1:2.5,2:3`.
std::string straggler_text(const std::vector<Straggler>& stragglers);

/// `2 cores of Intel(R) Xeon(R) Processor`, a CPU limit that binds and GPUs after that.
std::string machine_name(const MachineFacts& machine);

/// What the strategy's options say, as far as it is not as usual.
OptionValues unusual_options(const Cell& cell);

}  // namespace regatta
