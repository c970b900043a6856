// SPDX-License-Identifier: Apache-2.0
//
// embed: y = rows of the table; backward: dtable[v] = sum of dy over the tokens v.
// rotary: in each head of D channels, channels i and i + D / 2 of a query or key at token t are
// rotated by the angle t * base^(-2 i / D), backward by the opposite angle.
#include <cmath>

#include "kernels/graph/chunks.h"
#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

KernelPointer embed(const KernelRequest& request) {
  const Tensor tokens = request.inputs[0], table = request.inputs[1], y = request.outputs[0];
  const std::int64_t offset = request.node.attributes.integer("offset", 0);
  return make_kernel([=](const StepContext&) {
    const std::int64_t columns = table.type.columns();
    for (std::int64_t i = 0; i < tokens.elements(); ++i) {
      const std::int64_t row = tokens.as<std::int32_t>()[i] - offset;
      const bool is_own = row >= 0 && row < table.type.rows();
      for (std::int64_t c = 0; c < columns; ++c) {
        y.f32()[i * columns + c] = is_own ? table.f32()[row * columns + c] : 0;
      }
    }
  });
}

KernelPointer embed_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], tokens = request.inputs[1], dtable = request.outputs[0];
  const std::int64_t offset = request.node.attributes.integer("offset", 0);
  return make_kernel([=](const StepContext&) {
    const std::int64_t columns = dtable.type.columns();
    for (std::int64_t k = 0; k < dtable.elements(); ++k) {
      double total = 0;
      for (std::int64_t i = 0; i < tokens.elements(); ++i) {
        if (tokens.as<std::int32_t>()[i] != k / columns + offset) continue;
        total += dy.f32()[i * columns + k % columns];
      }
      dtable.f32()[k] = static_cast<float>(total);
    }
  });
}

KernelPointer rotary(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const Attributes& attributes = request.node.attributes;
  const double base = attributes.real("base");
  const double sign = attributes.integer("back") != 0 ? -1 : 1;
  const std::int64_t tokens = x.type.dim(1), channels = x.type.dim(2) / 3;
  const std::int64_t width = channels / attributes.integer("heads");
  return make_kernel([=, chunks = chunks_of(attributes, "chunks", tokens)](const StepContext&) {
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t t = chunks.position(i / (3 * channels) % tokens), c = i % width;
      if (i % (3 * channels) >= 2 * channels) {  // a value
        y.f32()[i] = x.f32()[i];
        continue;
      }
      const bool first = c < width / 2;
      const std::int64_t pair = first ? c : c - width / 2;
      const double angle =
          sign * static_cast<double>(t) *
          std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
      const double other = x.f32()[first ? i + width / 2 : i - width / 2];
      y.f32()[i] = static_cast<float>(x.f32()[i] * std::cos(angle) +
                                      (first ? -other : other) * std::sin(angle));
    }
  });
}

}  // namespace

KernelRows embedding_kernels() {
  return {{Op::Embed, embed}, {Op::EmbedBackward, embed_backward}, {Op::Rotary, rotary}};
}

}  // namespace regatta::reference
