// SPDX-License-Identifier: Apache-2.0
//
// Kernels for which something is chosen before the clock starts: an engine of a library, an
// algorithm, our own kernel and why. Records tell it.
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

/// What was chosen for a kernel; empty where there was no choice.
inline std::string choice_of(const Kernel& kernel) {
  const auto* chosen = dynamic_cast<const ChosenKernel*>(&kernel);
  return chosen == nullptr ? std::string() : chosen->choice();
}

/// The same of a node; replicas and stages that chose alike are one.
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
