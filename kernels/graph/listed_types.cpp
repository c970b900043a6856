// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/listed_types.h"

#include <utility>

#include "kernels/base/error.h"

namespace regatta {

void list_types(Attributes& attributes, std::span<const TensorType> types) {
  std::vector<std::int64_t> elements, ranks, dims;
  for (const TensorType& type : types) {
    elements.push_back(static_cast<std::int64_t>(type.element));
    ranks.push_back(static_cast<std::int64_t>(type.rank()));
    dims.insert(dims.end(), type.dims.begin(), type.dims.end());
  }
  attributes.set("elements", std::move(elements));
  attributes.set("ranks", std::move(ranks));
  attributes.set("dims", std::move(dims));
}

std::vector<TensorType> listed_types(const Attributes& attributes) {
  const auto& elements = attributes.integers("elements");
  const auto& ranks = attributes.integers("ranks");
  check(elements.size() == ranks.size(), "as many ranks are listed as elements");
  auto dim = attributes.integers("dims").begin();
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    types.push_back({static_cast<ElementType>(elements[i]), {dim, dim + ranks[i]}});
    dim += ranks[i];
  }
  return types;
}

}  // namespace regatta
