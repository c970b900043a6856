// SPDX-License-Identifier: Apache-2.0
//
// translate: an image moved by whole pixels, reflected at its border, and mirrored or not. Pixels
// of any type are copied as bytes; the sources of a row are computed once.
#include <cstring>
#include <vector>

#include "kernels/cpu/parallel.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

std::int64_t reflected(std::int64_t index, std::int64_t side) {
  const std::int64_t i = index < 0 ? -index : index;
  return i < side ? i : 2 * (side - 1) - i;
}

KernelPointer translate(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const Attributes& attributes = request.node.attributes;
  const std::int64_t height = x.type.dim(1), width = x.type.dim(2);
  std::vector<std::int64_t> row_of, column_of;
  for (std::int64_t row = 0; row < height; ++row) {
    row_of.push_back(reflected(row + attributes.integer("rows"), height));
  }
  for (std::int64_t column = 0; column < width; ++column) {
    const std::int64_t from = attributes.integer("mirror") != 0 ? width - 1 - column : column;
    column_of.push_back(reflected(from + attributes.integer("columns"), width));
  }
  const auto pixel = static_cast<std::size_t>(x.type.dim(3) * size_of(x.type.element));
  const int parts = parts_for(request.threads, x.elements());
  return make_kernel([=](const StepContext&) {
    const std::size_t row_bytes = static_cast<std::size_t>(width) * pixel;
    parallel_parts(parts, [&](int part) {
      const Range images = share(x.type.dim(0), parts, part);
      auto* to = y.as<std::byte>() + static_cast<std::size_t>(images.begin * height) * row_bytes;
      for (std::int64_t image = images.begin; image < images.end; ++image) {
        for (std::int64_t row : row_of) {
          const auto* from =
              x.as<std::byte>() + static_cast<std::size_t>(image * height + row) * row_bytes;
          for (std::int64_t column : column_of) {
            std::memcpy(to, from + static_cast<std::size_t>(column) * pixel, pixel);
            to += pixel;
          }
        }
      }
    });
  });
}

}  // namespace

KernelRows translate_kernels() { return {{Op::Translate, translate}}; }

}  // namespace regatta::cpu
