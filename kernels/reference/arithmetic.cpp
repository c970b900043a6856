// SPDX-License-Identifier: Apache-2.0
//
// add, scale, quotient, sum of n inputs times a factor; concatenate, take, put; cast between f32
// and bf16; copy; read of a shared variable (one that is not shared is a view and has no kernel).
#include <cstring>
#include <vector>

#include "kernels/reference/bf16.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::reference {
namespace {

KernelPointer add(const KernelRequest& request) {
  const Tensor a = request.inputs[0], b = request.inputs[1], y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < y.elements(); ++i) y.f32()[i] = a.f32()[i] + b.f32()[i];
  });
}

KernelPointer scale(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const double factor = request.node.attributes.real("factor");
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      y.f32()[i] = static_cast<float>(factor * x.f32()[i]);
    }
  });
}

KernelPointer quotient(const KernelRequest& request) {
  const Tensor x = request.inputs[0], divisor = request.inputs[1], y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < y.elements(); ++i) y.f32()[i] = x.f32()[i] / *divisor.f32();
  });
}

KernelPointer sum(const KernelRequest& request) {
  const std::vector<Tensor> terms(request.inputs.begin(), request.inputs.end());
  const Tensor y = request.outputs[0];
  const double factor = request.node.attributes.real("factor");
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      double total = 0;
      for (const Tensor& term : terms) total += term.f32()[i];
      y.f32()[i] = static_cast<float>(factor * total);
    }
  });
}

KernelPointer copy(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    std::memcpy(y.data, x.data, static_cast<std::size_t>(y.type.bytes()));
  });
}

KernelPointer cast(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const ElementType from = x.type.element, to = y.type.element;
  if (from == ElementType::F32 && to == ElementType::BF16) {
    return make_kernel([=](const StepContext&) {
      for (std::int64_t i = 0; i < y.elements(); ++i) {
        y.as<std::uint16_t>()[i] = to_bf16(x.f32()[i]);
      }
    });
  }
  if (from == ElementType::BF16 && to == ElementType::F32) {
    return make_kernel([=](const StepContext&) {
      for (std::int64_t i = 0; i < y.elements(); ++i) {
        y.f32()[i] = from_bf16(x.as<std::uint16_t>()[i]);
      }
    });
  }
  return from == to ? copy(request) : nullptr;
}

KernelPointer translate(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const Attributes& attributes = request.node.attributes;
  const std::int64_t rows = attributes.integer("rows"), columns = attributes.integer("columns");
  const bool mirrored = attributes.integer("mirror") != 0;
  const std::int64_t height = x.type.dim(1), width = x.type.dim(2), channels = x.type.dim(3);
  const auto reflected = [](std::int64_t i, std::int64_t side) {
    return i < 0 ? -i : i < side ? i : 2 * side - 2 - i;
  };
  return make_kernel([=](const StepContext&) {
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t c = i % channels;
      const std::int64_t q = i / channels % width, p = i / channels / width % height;
      const std::int64_t b = i / channels / width / height;
      const std::int64_t row = reflected(p + rows, height);
      const std::int64_t column = reflected((mirrored ? width - 1 - q : q) + columns, width);
      y.f32()[i] = x.f32()[((b * height + row) * width + column) * channels + c];
    }
  });
}

KernelPointer concatenate(const KernelRequest& request) {
  const std::vector<Tensor> parts(request.inputs.begin(), request.inputs.end());
  const Tensor y = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    char* to = y.as<char>();
    for (const Tensor& part : parts) {
      std::memcpy(to, part.data, static_cast<std::size_t>(part.type.bytes()));
      to += part.type.bytes();
    }
  });
}

/// take or put.
KernelPointer place(const KernelRequest& request) {
  const std::vector<Tensor> inputs(request.inputs.begin(), request.inputs.end());
  const Tensor y = request.outputs[0];
  const bool puts = request.node.op == Op::Put;
  const auto begins = request.node.attributes.integers("begins");
  const auto axis = static_cast<std::size_t>(request.node.attributes.integer("axis"));
  return make_kernel([=](const StepContext&) {
    std::memset(y.data, 0, static_cast<std::size_t>(y.type.bytes()));
    std::int64_t inner = y.type.bytes() / y.elements();
    for (std::size_t d = axis + 1; d < y.type.dims.size(); ++d) inner *= y.type.dims[d];
    const std::int64_t extent = y.type.dims[axis];
    const std::size_t of_each = begins.size() / inputs.size();
    for (std::int64_t row = 0; row < y.type.bytes() / (inner * extent); ++row) {
      std::int64_t joined = 0;
      for (std::size_t i = 0; i < begins.size(); ++i) {
        const Tensor& x = inputs[i / of_each];
        const std::int64_t whole = x.type.dims[axis];
        const std::int64_t length = (puts ? whole : extent) / static_cast<std::int64_t>(of_each);
        if (i % of_each == 0) joined = 0;
        const std::int64_t from = puts ? joined : begins[i], to = puts ? begins[i] : joined;
        std::memcpy(y.as<char>() + (row * extent + to) * inner,
                    x.as<char>() + (row * whole + from) * inner,
                    static_cast<std::size_t>(length * inner));
        joined += length;
      }
    }
  });
}

KernelPointer assign(const KernelRequest& request) {
  const Tensor x = request.inputs[0];
  SeenVersion* const seen = request.versions_seen.empty() ? nullptr : request.versions_seen[0];
  return make_kernel([=, variable = request.variables[0]](const StepContext&) {
    std::memcpy(variable->tensor.data, x.data, static_cast<std::size_t>(x.type.bytes()));
    if (variable->sharing == Sharing::None) return;
    ++variable->counts->averages;  // it assigns a mean with another replica's value
    if (seen != nullptr) ++seen->number;
  });
}

KernelPointer read(const KernelRequest& request) {
  const Tensor y = request.outputs[0];
  const VariableStorage* variable = request.variables[0];
  SeenVersion* seen = request.versions_seen.empty() ? nullptr : request.versions_seen[0];
  return make_kernel([=](const StepContext&) {
    if (seen != nullptr) {
      *seen = {.number = variable->counts->version + variable->counts->averages, .ticks = ticks()};
    }
    std::memcpy(y.data, variable->tensor.data, static_cast<std::size_t>(y.type.bytes()));
  });
}

}  // namespace

KernelRows arithmetic_kernels() {
  return {{Op::Add, add},
          {Op::Scale, scale},
          {Op::Quotient, quotient},
          {Op::Sum, sum},
          {Op::Cast, cast},
          {Op::Translate, translate},
          {Op::Concatenate, concatenate},
          {Op::Take, place},
          {Op::Put, place},
          {Op::Copy, copy},
          {Op::Assign, assign},
          {Op::Read, read}};
}

}  // namespace regatta::reference
