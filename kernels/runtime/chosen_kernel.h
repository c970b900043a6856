// SPDX-License-Identifier: Apache-2.0
//
// Kernels that choose an engine of a library, an algorithm or an implementation before the clock
// starts. Records contain the choices, with the reason where our own kernel stands in for a
// library's.
#pragma once

#include <compare>
#include <string>

#include "kernels/graph/fields.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class ChosenKernel : public Kernel {
 public:
  /// One line: `cuDNN 9.14.0: engine 41, ...`, `own tiles: libcudnn.so.9 is not installed`.
  virtual std::string choice() const = 0;
};

/// A kernel's choice; empty where there was none.
inline std::string choice_of(const Kernel& kernel) {
  const auto* chosen = dynamic_cast<const ChosenKernel*>(&kernel);
  return chosen == nullptr ? std::string() : chosen->choice();
}

/// The choice for a node; replicas and stages with equal choices share one entry.
struct KernelChoice {
  std::string node;  ///< `convolution conv1`: op and layer
  std::string choice;
  auto operator<=>(const KernelChoice&) const = default;
};

template <FieldsOf<KernelChoice> T, typename Field>
void for_each_field(T& kernel, Field&& field) {
  field("node", kernel.node);
  field("choice", kernel.choice);
}

}  // namespace regatta
