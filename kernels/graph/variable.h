// SPDX-License-Identifier: Apache-2.0
//
// A variable of a step's graph (graph.h): what outlives a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/graph/node.h"
#include "kernels/graph/shared.h"
#include "kernels/graph/tensor_type.h"

namespace regatta {

/// How a variable gets its first value. Every element is a function of (seed, name, index).
struct Initializer {
  enum class Kind : std::uint8_t {
    Zeros,
    Ones,
    Normal,
    Uniform,
    Dirac,  ///< of weights [O, K, K, I]: the first I filters pass their channel, others are Uniform
    Given   ///< `values`, whatever the seed
  };
  Kind kind = Kind::Zeros;
  double scale = 1;    ///< Normal: standard deviation. Uniform, Dirac: bound of [-scale, scale].
  std::string source;  ///< the variable with whose first value it starts; empty: itself
  std::vector<float> values = {};  ///< Given: all elements
  bool operator==(const Initializer&) const = default;
};

/// What a variable is for.
enum class VariableKind : std::uint8_t { Parameter, Slot, Statistic };

/// Who may touch a variable at the same time.
enum class Sharing : std::uint8_t {
  None,     ///< one replica, or replicas that the graph orders
  Relaxed,  ///< any replica at any time, element by element with relaxed atomics (Hogwild)
  Locked,   ///< any replica at any time, a lock for each block of the variable
  Quorum,   ///< read as Locked; assigned by one replica at a time, when a quorum is complete
};
std::string_view to_string(Sharing sharing);

/// Names the larger variable of which this one holds some rows along one dimension; several servers
/// or shards share it.
struct PartOf {
  std::string name;       ///< of the whole
  TensorType type;        ///< of the whole
  std::int64_t row = 0;   ///< the part's first
  std::size_t along = 0;  ///< the dimension; 0: the slowest
  bool operator==(const PartOf&) const = default;
};

/// Elements that follow each other in a part and in its whole.
struct Stretch {
  std::int64_t in_part = 0;   ///< the index of the first
  std::int64_t in_whole = 0;  ///< the same
  std::int64_t count = 0;
};

/// What an evaluation takes of the variables that one model has under one judged_name().
enum class Judged : std::uint8_t {
  First,  ///< all are alike, or there is one
  Mean,   ///< all of them, weighted by the replicas' shares of the batch
  Never,  ///< none: a variable that is judged as this one's name stands for them
};

struct Variable {
  std::string name;
  TensorType type;
  VariableKind kind = VariableKind::Parameter;
  Shared<Initializer> initializer = {};
  Place place;
  Sharing sharing = Sharing::None;
  Shared<PartOf> part_of = {};
  /// Set by a strategy whose replicas differ; otherwise judged_by() says it.
  std::optional<Judged> judged = {};
  std::string judged_as = {};  ///< the variable of the workload for which this one is judged

  /// The name that the workload gave to the whole variable.
  const std::string& whole_name() const { return part_of ? part_of->name : name; }
  /// The name of the variable of an evaluation that takes this one.
  const std::string& judged_name() const { return judged_as.empty() ? whole_name() : judged_as; }
  /// Running statistics are linear in the batches, so that their mean is exact.
  Judged judged_by() const {
    return judged.value_or(kind == VariableKind::Statistic ? Judged::Mean : Judged::First);
  }
  /// Where all elements stand in the whole variable.
  std::vector<Stretch> stretches() const;
  bool operator==(const Variable&) const = default;
};

/// The initializer that gives the first value of a whole variable, in whichever process that is.
inline Initializer first_value_of(const Variable& source) {
  Initializer same = *source.initializer;
  if (same.source.empty()) same.source = source.name;
  return same;
}

}  // namespace regatta
