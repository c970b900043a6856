// SPDX-License-Identifier: Apache-2.0
//
// top_k, by sorting all elements by magnitude and the selected ones by index; and scatter_add.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

KernelPointer top_k(const KernelRequest& request) {
  const Tensor x = request.inputs[0], selected = request.outputs[0], rest = request.outputs[1];
  const auto count = static_cast<std::ptrdiff_t>(request.node.attributes.integer("count"));
  return make_kernel([=](const StepContext&) {
    std::vector<std::uint32_t> order(static_cast<std::size_t>(x.elements()));
    std::iota(order.begin(), order.end(), 0U);
    const auto magnitude = [&](std::uint32_t index) {
      return std::bit_cast<std::uint32_t>(x.f32()[index]) & 0x7fffffffU;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return magnitude(a) > magnitude(b); });
    std::sort(order.begin(), order.begin() + count);
    std::copy_n(x.f32(), x.elements(), rest.f32());
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const std::uint32_t index = order[static_cast<std::size_t>(i)];
      selected.f32()[i] = x.f32()[index];
      selected.as<std::uint32_t>()[count + i] = index;
      rest.f32()[index] = 0;
    }
  });
}

KernelPointer scatter_add(const KernelRequest& request) {
  const Tensor selected = request.inputs[0], y = request.outputs[0];
  const std::int64_t count = request.node.attributes.integer("count");
  return make_kernel([=](const StepContext&) {
    std::fill_n(y.f32(), y.elements(), 0.0F);
    for (std::int64_t at = 0; at < selected.elements(); at += 2 * count) {
      for (std::int64_t i = at; i < at + count; ++i) {
        y.f32()[selected.as<std::uint32_t>()[count + i]] += selected.f32()[i];
      }
    }
  });
}

}  // namespace

KernelRows selection_kernels() { return {{Op::TopK, top_k}, {Op::ScatterAdd, scatter_add}}; }

}  // namespace regatta::reference
