// SPDX-License-Identifier: Apache-2.0
//
// What ranks send of their variables, piece by piece: only what was asked for, in order, and no
// more than the graph on this side says.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "harness/ranks/control.pb.h"
#include "harness/run/trainer.h"

namespace regatta {

class IncomingVariables {
 public:
  /// `parts`: by process; they outlive this.
  explicit IncomingVariables(const std::vector<Step>& parts);

  /// The variable is to come from the process after those that are expected already. Returns where
  /// its values will be; until they have come, those that came the last time.
  VariableCopy expect(std::size_t process, VariableId id);
  /// Something is still to come from the process.
  bool expects_any(std::size_t process) const { return !incoming_[process].variables.empty(); }
  /// False: the piece is none that is expected now.
  [[nodiscard]] bool take(std::size_t process, const control::Piece& piece);
  /// That came with the variable's values.
  std::uint64_t version(std::size_t process, VariableId id) const {
    return versions_[process][static_cast<std::size_t>(id)];
  }

 private:
  struct Incoming {
    std::deque<VariableId> variables;  ///< that are still to come
    std::int64_t filled = 0;           ///< bytes of the first of them
  };

  const std::vector<Step>& parts_;
  std::vector<Incoming> incoming_;                       ///< by process
  std::vector<std::vector<std::vector<float>>> values_;  ///< by process and variable
  std::vector<std::vector<std::uint64_t>> versions_;     ///< by process and variable
};

}  // namespace regatta
