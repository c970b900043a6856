// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/initialize.h"

#include <algorithm>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/random.h"

namespace regatta {
namespace {

/// The middle of the window passes channel o to filter o. Source: PyTorch, torch.nn.init.dirac_.
void set_dirac(const TensorType& type, float* weights) {
  check(type.rank() == 4, "only weights [O, K, K, I] start as dirac");
  const std::int64_t inputs = type.dim(3);
  const std::int64_t filter = type.elements() / type.dim(0);
  const std::int64_t middle = (type.dim(1) / 2 * type.dim(2) + type.dim(2) / 2) * inputs;
  for (std::int64_t o = 0; o < std::min(type.dim(0), inputs); ++o) {
    std::fill_n(weights + o * filter, filter, 0.0F);
    weights[o * filter + middle + o] = 1;
  }
}

/// Initialises a variable that is not a part of another.
void initialize_whole(const Variable& variable, std::uint64_t seed, float* destination) {
  const Initializer& initializer = variable.initializer;
  check(variable.type.element == ElementType::F32, "variables hold f32");
  const auto count = static_cast<std::uint32_t>(variable.type.elements());
  const std::uint64_t name = fnv1a(initializer.source.empty() ? variable.name : initializer.source);
  const RandomStream stream(seed, Purpose::Weights, static_cast<std::uint32_t>(name),
                            static_cast<std::uint32_t>(name >> 32));
  const auto scale = static_cast<float>(initializer.scale);
  switch (initializer.kind) {
    case Initializer::Kind::Zeros: std::fill_n(destination, count, 0.0F); return;
    case Initializer::Kind::Ones: std::fill_n(destination, count, 1.0F); return;
    case Initializer::Kind::Normal:
      for (std::uint32_t i = 0; i < count; ++i) destination[i] = scale * stream.normal(i);
      return;
    case Initializer::Kind::Uniform:
      for (std::uint32_t i = 0; i < count; ++i) {
        destination[i] = scale * (2 * stream.uniform(i) - 1);
      }
      return;
    case Initializer::Kind::Dirac:
      for (std::uint32_t i = 0; i < count; ++i) {
        destination[i] = scale * (2 * stream.uniform(i) - 1);
      }
      set_dirac(variable.type, destination);
      return;
    case Initializer::Kind::Given:
      check(initializer.values.size() == count, "a variable is given all its first values");
      std::copy(initializer.values.begin(), initializer.values.end(), destination);
      return;
  }
}

}  // namespace

void initialize(const Graph& graph, VariableId id, std::uint64_t seed, float* destination) {
  const Variable& variable = graph.variable(id);
  if (!variable.part_of) {
    initialize_whole(variable, seed, destination);
    return;
  }
  Variable whole = variable;
  whole.name = variable.part_of->name;
  whole.type = variable.part_of->type;
  std::vector<float> values(static_cast<std::size_t>(whole.type.elements()));
  initialize_whole(whole, seed, values.data());
  for (const Stretch& each : variable.stretches()) {
    std::copy_n(values.begin() + each.in_whole, each.count, destination + each.in_part);
  }
}

}  // namespace regatta
