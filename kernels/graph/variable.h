// SPDX-License-Identifier: Apache-2.0
//
// A variable of a step's graph (graph.h): its value persists from step to step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/graph/node.h"
#include "kernels/graph/tensor_type.h"

namespace regatta {

/// The initial value of a variable. Each element is a function of the run's seed, the variable's
/// name and the element's index.
struct Initializer {
  enum class Kind : std::uint8_t {
    Zeros,
    Ones,
    Normal,
    Uniform,
    Dirac,  ///< for weights [O, K, K, I]: each of the first I filters copies its input channel to
            ///< its output; the others are Uniform
    Given   ///< the elements of `values`, whatever the seed
  };
  Kind kind = Kind::Zeros;
  double scale = 1;    ///< Normal: standard deviation. Uniform, Dirac: bound of [-scale, scale].
  std::string source;  ///< name of the variable whose first value this one has, too; empty: a first
                       ///< value of its own
  std::vector<float> values = {};  ///< Given: all elements
  bool operator==(const Initializer&) const = default;
};

/// The purpose of a variable: a parameter of the model, an optimizer's slot, or a running
/// statistic.
enum class VariableKind : std::uint8_t { Parameter, Slot, Statistic };

/// How several replicas may access one variable.
enum class Sharing : std::uint8_t {
  None,     ///< only one replica, or several in an order that the graph fixes
  Relaxed,  ///< any replica at any time, element by element with relaxed atomics (Hogwild)
  Locked,   ///< any replica at any time, with a lock for each block of the variable
  Quorum,   ///< read as with Locked; assigned by one replica at a time, when a quorum is complete
};
std::string_view to_string(Sharing sharing);

/// Describes the whole variable of which a variable holds some rows along one dimension, or some
/// elements of such rows. Several servers or shards each hold such a part.
struct PartOf {
  std::string name;        ///< name of the whole
  TensorType type;         ///< type of the whole
  std::int64_t row = 0;    ///< first row of the part
  std::size_t along = 0;   ///< the dimension that is divided; 0: the slowest
  TensorType rows = {};    ///< type of the rows of which the part has consecutive elements, if it
                           ///< has not all
  std::int64_t first = 0;  ///< first of these elements
  bool operator==(const PartOf&) const = default;
};

/// Elements that are consecutive both in a part and in its whole.
struct Stretch {
  std::int64_t in_part = 0;   ///< index of the first element in the part
  std::int64_t in_whole = 0;  ///< index of the first element in the whole
  std::int64_t count = 0;
};

/// How an evaluation obtains one value from the variables of a model that have the same
/// judged_name(), the name under which they are evaluated.
enum class Judged : std::uint8_t {
  First,  ///< uses the first one: all are equal, or there is only one
  Mean,   ///< uses the mean of all, weighted by the replicas' shares of the batch
  Never,  ///< does not use this one, but the variable whose `judged_as` is this one's name
};

struct Variable {
  std::string name;
  TensorType type;
  VariableKind kind = VariableKind::Parameter;
  Initializer initializer = {};
  Place place;
  Sharing sharing = Sharing::None;
  std::optional<PartOf> part_of = {};
  /// How evaluations obtain this variable's value; set by a strategy whose replicas have different
  /// values. If empty, judged_by() derives it from `kind`.
  std::optional<Judged> judged = {};
  /// Name of the workload's variable that this one replaces in evaluations; empty: none.
  std::string judged_as = {};

  /// Returns the name of the whole variable in the workload.
  const std::string& whole_name() const { return part_of ? part_of->name : name; }
  /// Returns the name under which evaluations use this variable.
  const std::string& judged_name() const { return judged_as.empty() ? whole_name() : judged_as; }
  /// Returns how evaluations obtain this variable's value. Running statistics are averaged over the
  /// replicas: because they are linear in the statistics of the batches, their mean is exactly the
  /// value that a single replica with the whole global batch would have.
  Judged judged_by() const {
    return judged.value_or(kind == VariableKind::Statistic ? Judged::Mean : Judged::First);
  }
  /// Returns the positions of this variable's elements in the whole variable, as stretches.
  std::vector<Stretch> stretches() const;
  bool operator==(const Variable&) const = default;
};

/// Returns an initializer that gives a copy of `source` the initial value of `source`, in every
/// process.
inline Initializer first_value_of(const Variable& source) {
  Initializer same = source.initializer;
  if (same.source.empty()) same.source = source.name;
  return same;
}

}  // namespace regatta
