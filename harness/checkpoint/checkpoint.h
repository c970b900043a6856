// SPDX-License-Identifier: Apache-2.0
//
// The complete state of a run between two steps, and its file format:
//   8 bytes "RGTCKPT\n"; then the format's version, the size of the header and the size of the
//   payload in bytes, as 64-bit little-endian integers;
//   the header: the struct Checkpoint as harness/system/bytes.h writes it;
//   the payload: the memory of every variable at every place; copies with the same bits are stored
//   once;
//   the 64-bit FNV-1a hash of everything before it.
// The reader checks each size against the file's size before it allocates memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/plan/fingerprint.h"
#include "harness/record/record_fields.h"
#include "harness/run/trainer.h"

namespace regatta::checkpoint {

/// A range of the payload. Units: bytes.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

template <FieldsOf<Extent> T, typename Field>
void for_each_field(T& extent, Field&& field) {
  field("offset", extent.offset);
  field("size", extent.size);
}

struct SavedVariable {
  std::string name;
  std::string place;
  std::uint64_t version = 0;  ///< number of updates, if loops share the variable
  std::span<const char> memory;
  Extent extent = {};  ///< range of the payload with the memory; encode() sets it
};

template <FieldsOf<SavedVariable> T, typename Field>
void for_each_field(T& variable, Field&& field) {
  field("name", variable.name);
  field("place", variable.place);
  field("version", variable.version);
  field("memory", variable.extent);
}

struct Checkpoint {
  static constexpr std::uint64_t kFormat = 8;

  std::string run_id;   ///< id of the original run, however often it was resumed
  std::string command;  ///< command of the original run
  plan::Fingerprint fingerprint;
  std::int64_t examples = 0;  ///< trained on; asynchronous loops may have seen a few more
  std::int64_t training_ns = 0;
  std::int64_t full_ns = 0;
  record::CheckpointsRecord checkpoints;  ///< the count includes this checkpoint, the time does not
  std::vector<record::Evaluation> evaluations;
  std::optional<std::int64_t> training_time_to_target_ns;
  std::optional<std::int64_t> full_time_to_target_ns;
  std::optional<std::int64_t> result_time_to_target_ns;
  std::optional<std::int64_t> examples_to_target;
  run::TrainingReport report;
  std::vector<SavedVariable> variables;  ///< in the order of Trainer::variables(Copies::All)
  /// The file's bytes, to which `variables` refer, if the checkpoint was read from a file.
  std::shared_ptr<const std::vector<char>> file;
};

template <FieldsOf<Checkpoint> T, typename Field>
void for_each_field(T& checkpoint, Field&& field) {
  field("examples", checkpoint.examples);
  field("training_ns", checkpoint.training_ns);
  field("full_ns", checkpoint.full_ns);
  field("checkpoints", checkpoint.checkpoints);
  field("run_id", checkpoint.run_id);
  field("command", checkpoint.command);
  field("fingerprint", checkpoint.fingerprint);
  field("evaluations", checkpoint.evaluations);
  field("training_time_to_target_ns", checkpoint.training_time_to_target_ns);
  field("full_time_to_target_ns", checkpoint.full_time_to_target_ns);
  field("result_time_to_target_ns", checkpoint.result_time_to_target_ns);
  field("examples_to_target", checkpoint.examples_to_target);
  field("report", checkpoint.report);
  field("variables", checkpoint.variables);
}

/// Encodes a checkpoint as a file: passes the file's bytes, in order, to calls of `write`.
void encode(Checkpoint checkpoint, const std::function<void(std::span<const char>)>& write);

/// Parses the bytes of a checkpoint file. Throws: RunError(Data) that names the file `name` and its
/// defect.
Checkpoint decode(std::vector<char> file, const std::string& name);

/// Returns the positions (steps and examples) of the run's loops at the checkpoint.
Positions positions_of(const Checkpoint& checkpoint);

}  // namespace regatta::checkpoint
