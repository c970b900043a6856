// SPDX-License-Identifier: Apache-2.0
//
// A variable of a step's graph (graph.h): its value outlives a step.
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
    Dirac,  ///< weights [O, K, K, I]: the first I filters pass their channel, others are Uniform
    Given   ///< `values`, whatever the seed
  };
  Kind kind = Kind::Zeros;
  double scale = 1;    ///< Normal: standard deviation. Uniform, Dirac: bound of [-scale, scale].
  std::string source;  ///< the variable that gives the first value; empty: itself
  std::vector<float> values = {};  ///< Given: all elements
  bool operator==(const Initializer&) const = default;
};

/// The use of a variable.
enum class VariableKind : std::uint8_t { Parameter, Slot, Statistic };

/// Which replicas may access a variable at the same time.
enum class Sharing : std::uint8_t {
  None,     ///< one replica, or several in an order that the graph fixes
  Relaxed,  ///< any replica at any time, element by element with relaxed atomics (Hogwild)
  Locked,   ///< any replica at any time, a lock for each block of the variable
  Quorum,   ///< read as Locked; assigned by one replica at a time, when a quorum is complete
};
std::string_view to_string(Sharing sharing);

/// Names the larger variable of which this one holds some rows along one dimension; several servers
/// or shards hold its parts.
struct PartOf {
  std::string name;       ///< name of the whole
  TensorType type;        ///< type of the whole
  std::int64_t row = 0;   ///< first row of the part
  std::size_t along = 0;  ///< the dimension; 0: the slowest
  bool operator==(const PartOf&) const = default;
};

/// Elements that are consecutive both in a part and in its whole.
struct Stretch {
  std::int64_t in_part = 0;   ///< index of the first element in the part
  std::int64_t in_whole = 0;  ///< index of the first element in the whole
  std::int64_t count = 0;
};

/// How an evaluation combines the variables that one model has under one judged_name().
enum class Judged : std::uint8_t {
  First,  ///< all are equal, or there is only one: the first
  Mean,   ///< the mean of all, weighted by the replicas' shares of the batch
  Never,  ///< not used: a variable with this one's name in judged_as stands for it
};

struct Variable {
  std::string name;
  TensorType type;
  VariableKind kind = VariableKind::Parameter;
  Shared<Initializer> initializer = {};
  Place place;
  Sharing sharing = Sharing::None;
  Shared<PartOf> part_of = {};
  /// Set by a strategy if its replicas differ; otherwise judged_by() derives it.
  std::optional<Judged> judged = {};
  std::string judged_as = {};  ///< the workload's variable that this one replaces in evaluations

  /// The name of the whole variable in the workload.
  const std::string& whole_name() const { return part_of ? part_of->name : name; }
  /// The name under which evaluations use this variable.
  const std::string& judged_name() const { return judged_as.empty() ? whole_name() : judged_as; }
  /// How evaluations use it. The mean of running statistics is exact: they are linear in the
  /// batches.
  Judged judged_by() const {
    return judged.value_or(kind == VariableKind::Statistic ? Judged::Mean : Judged::First);
  }
  /// Positions of all elements in the whole variable.
  std::vector<Stretch> stretches() const;
  bool operator==(const Variable&) const = default;
};

/// The initializer of a copy that starts with the first value of `source`, in any process.
inline Initializer first_value_of(const Variable& source) {
  Initializer same = *source.initializer;
  if (same.source.empty()) same.source = source.name;
  return same;
}

}  // namespace regatta
