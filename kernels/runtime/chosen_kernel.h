// SPDX-License-Identifier: Apache-2.0
//
// Kernels that choose an engine of a library, an algorithm or an implementation before the run is
// timed. Run records list the choices, with the reason where our own kernel replaces a library's.
#pragma once

#include <compare>
#include <string>

#include "kernels/base/fields.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class ChosenKernel : public Kernel {
 public:
  /// Describes the choice in one line, such as `cuDNN 9.14.0: engine 41, ...` or
  /// `own tiles: libcudnn.so.9 is not installed`.
  virtual std::string choice() const = 0;
};

/// Returns the kernel's choice; empty if the kernel makes none.
inline std::string choice_of(const Kernel& kernel) {
  const auto* chosen = dynamic_cast<const ChosenKernel*>(&kernel);
  return chosen == nullptr ? std::string() : chosen->choice();
}

/// The choice of a node's kernel. Equal choices in several replicas or stages share one entry.
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
