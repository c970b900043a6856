// SPDX-License-Identifier: Apache-2.0
//
// A run as it stood between two steps, with all that it needs to go on, and its form in a file:
//   8 bytes "RGTCKPT\n", then the format's version, the header's bytes and the payload's bytes as
//   64-bit integers, little-endian;
//   the header: the struct Checkpoint as harness/system/bytes.h writes it;
//   the payload: the memory of every variable of every place; copies that hold the same bits are
//   there once;
//   the 64-bit FNV-1a hash of all before it.
// Lengths are held against the file's before anything is set aside for them.
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

namespace regatta {

/// A part of the payload. Units: bytes.
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
  std::uint64_t version = 0;  ///< updates that it has had, where loops share it
  std::span<const char> memory;
  Extent extent = {};  ///< of the memory; encode() sets it
};

template <FieldsOf<SavedVariable> T, typename Field>
void for_each_field(T& variable, Field&& field) {
  field("name", variable.name);
  field("place", variable.place);
  field("version", variable.version);
  field("memory", variable.extent);
}

struct Checkpoint {
  static constexpr std::uint64_t kFormat = 5;

  std::string run_id;   ///< of the run that began it
  std::string command;  ///< of that run
  Fingerprint fingerprint;
  std::int64_t examples = 0;  ///< trained; loops that do not wait may have seen a few more
  std::int64_t training_ns = 0;
  std::int64_t full_ns = 0;
  CheckpointsRecord checkpoints;  ///< written before this one
  std::vector<Evaluation> evaluations;
  std::optional<std::int64_t> training_time_to_target_ns;
  std::optional<std::int64_t> full_time_to_target_ns;
  std::optional<std::int64_t> examples_to_target;
  TrainingReport report;
  std::vector<SavedVariable> variables;  ///< as variables(Copies::All) orders them
  /// Of one that was read: what the variables' memory is part of.
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
  field("examples_to_target", checkpoint.examples_to_target);
  field("report", checkpoint.report);
  field("variables", checkpoint.variables);
}

/// Hands the bytes of the file to `write`, in order.
void encode(Checkpoint checkpoint, const std::function<void(std::span<const char>)>& write);

/// `name` is for errors. Throws: RunError(Data) that says what is wrong with it.
Checkpoint decode(std::vector<char> file, const std::string& name);

/// Where the run stands after it.
Positions positions_of(const Checkpoint& checkpoint);

}  // namespace regatta
