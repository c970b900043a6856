// SPDX-License-Identifier: Apache-2.0
//
// Computes the identity of a cell. Its name, the key that groups its runs, and the conditions that
// compared runs must share follow from traits_of(), which reads the declarations of a cell's fields
// (record/cell_record.h).
#pragma once

#include <string>
#include <vector>

#include "harness/record/record.h"

namespace regatta::judge {

/// A property of a cell, such as its strategy, number of workers or data set.
struct Trait {
  using Role = record::CellPart::Role;
  std::string name;   ///< the field's name in results/schema.json, or the option's name
  std::string value;  ///< as text: `ring`, `1:2.5`, `none`
  record::CellPart part;
  bool is_default = false;  ///< the value is the default; cell_name() leaves it out
};

/// Lists the cell's fields in the schema's order, without the seed. The options follow the
/// strategy, and the target comes last. The result depends only on the record.
std::vector<Trait> traits_of(const record::Record& record);

/// Names the cell by its differences from the workload's defaults:
/// `resnet9_thin all_reduce (2 workers, dtype=bf16)`.
std::string cell_name(const record::Record& record);

/// Returns a key that is equal for all runs of one cell on one kind of machine.
std::string cell_key(const record::Record& record);

/// Returns a key that is equal for runs of one cell on any machine. It depends only on fields whose
/// values are known before a run begins, such as those of the request.
std::string request_key(const record::Record& record);

/// Returns a key that is equal for runs whose times may be compared: they have the same workload,
/// data, target, length, stragglers and machine.
std::string workload_key(const record::Record& record);

/// Returns a key that is equal for cells in which each worker has the same work and the same
/// number of cores, whatever the workers exchange.
std::string work_key(const record::Record& record);

/// Names the machine's cores, the CPU limit if it is below the number of cores, and the GPUs:
/// `2 cores of Intel(R) Xeon(R) Processor`.
std::string machine_name(const system::MachineFacts& machine);

/// Returns the cell's options, with the workload's defaults of those that an older record lacks.
OptionValues options_of(const record::Cell& cell);

/// Returns the strategy's options that differ from their defaults.
OptionValues unusual_options(const record::Cell& cell);

}  // namespace regatta::judge
