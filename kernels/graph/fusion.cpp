// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/fusion.h"

#include <string>

#include "kernels/base/error.h"

namespace regatta {
namespace {

Fusion::Activation activation_of(const std::string& name) {
  check(name == "relu" || name == "gelu", "a fused activation is relu or gelu");
  return name == "relu" ? Fusion::Activation::Relu : Fusion::Activation::Gelu;
}

Fusion::Pool pool_of(const std::string& name) {
  check(name == "before" || name == "after", "a fused pool stands before or after");
  return name == "before" ? Fusion::Pool::Before : Fusion::Pool::After;
}

}  // namespace

Fusion fusion_of(const Attributes& attributes) {
  Fusion fusion;
  if (attributes.has("activation"))
    fusion.activation = activation_of(attributes.text("activation"));
  if (attributes.has("pool")) {
    fusion.pool = pool_of(attributes.text("pool"));
    fusion.window = attributes.integer("window");
    check(fusion.window > 0 && fusion.window <= 16, "a pool's window has a side of 1 to 16");
  }
  return fusion;
}

void set_fusion(Attributes& attributes, const Fusion& fusion) {
  if (fusion.activation != Fusion::Activation::None) {
    const bool relu = fusion.activation == Fusion::Activation::Relu;
    attributes.set("activation", std::string(relu ? "relu" : "gelu"));
  }
  if (fusion.pool == Fusion::Pool::None) return;
  attributes.set("pool", std::string(fusion.pool == Fusion::Pool::Before ? "before" : "after"));
  attributes.set("window", fusion.window);
}

}  // namespace regatta
