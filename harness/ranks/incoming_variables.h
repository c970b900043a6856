// SPDX-License-Identifier: Apache-2.0
//
// Receives variables from ranks, in pieces. Accepts only the requested variables, in the order of
// the requests and with the sizes that they have in the coordinator's graph.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "harness/ranks/control.pb.h"
#include "harness/run/trainer.h"

namespace regatta::ranks {

class IncomingVariables {
 public:
  /// `parts[p]` is the step of process p. `parts` must outlive this object.
  explicit IncomingVariables(const std::vector<Step>& parts);

  /// Expects a variable from the process, after those already expected from it. The returned copy
  /// refers to memory that holds the variable's previous values until new pieces overwrite them.
  run::VariableCopy expect(std::size_t process, VariableId id);
  bool expects_any(std::size_t process) const { return !incoming_[process].variables.empty(); }
  /// Stores a piece. Returns false, and stores nothing, if it is not the piece expected next.
  [[nodiscard]] bool take(std::size_t process, const control::Piece& piece);
  /// The version (number of updates) that was received with the variable's values.
  std::uint64_t version(std::size_t process, VariableId id) const {
    return versions_[process][static_cast<std::size_t>(id)];
  }

 private:
  struct Incoming {
    std::deque<VariableId> variables;  ///< expected, but not complete yet
    std::int64_t filled = 0;           ///< bytes received of the first of them
  };

  const std::vector<Step>& parts_;
  std::vector<Incoming> incoming_;                       ///< by process
  std::vector<std::vector<std::vector<float>>> values_;  ///< by process and variable
  std::vector<std::vector<std::uint64_t>> versions_;     ///< by process and variable
};

}  // namespace regatta::ranks
