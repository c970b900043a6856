// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/incoming_variables.h"

#include <cstring>

namespace regatta::ranks {

IncomingVariables::IncomingVariables(const std::vector<Step>& parts)
    : parts_(parts), incoming_(parts.size()), values_(parts.size()), versions_(parts.size()) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    values_[p].resize(parts[p].graph.variables().size());
    versions_[p].resize(values_[p].size());
  }
}

run::VariableCopy IncomingVariables::expect(std::size_t process, VariableId id) {
  const Variable& variable = parts_[process].graph.variable(id);
  std::vector<float>& values = values_[process][static_cast<std::size_t>(id)];
  values.resize(static_cast<std::size_t>((variable.type.bytes() + 3) / 4));
  incoming_[process].variables.push_back(id);
  return {.variable = variable,
          .tensor = {.type = variable.type, .data = values.data()},
          .version = 0,
          .model = parts_[process].partition.model(id)};
}

bool IncomingVariables::take(std::size_t process, const control::Piece& piece) {
  Incoming& incoming = incoming_[process];
  const auto size = static_cast<std::int64_t>(piece.data().size());
  const bool expected = !incoming.variables.empty() &&
                        incoming.variables.front() == piece.variable() &&
                        incoming.filled == piece.offset() && size > 0;
  if (!expected) return false;
  const std::int64_t bytes = parts_[process].graph.variable(piece.variable()).type.bytes();
  if (incoming.filled + size > bytes) return false;
  const auto variable = static_cast<std::size_t>(piece.variable());
  std::memcpy(reinterpret_cast<char*>(values_[process][variable].data()) + piece.offset(),
              piece.data().data(), piece.data().size());
  incoming.filled += size;
  if (incoming.filled < bytes) return true;
  incoming.filled = 0;
  versions_[process][variable] = piece.version();
  incoming.variables.pop_front();
  return true;
}

}  // namespace regatta::ranks
