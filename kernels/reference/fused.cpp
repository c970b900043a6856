// SPDX-License-Identifier: Apache-2.0
//
// The fused ops as chains of the single ops' kernels, with memory for the intermediate values.
#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/graph/fusion.h"
#include "kernels/reference/reference_kernels.h"

namespace regatta::reference {
namespace {

using Activation = Fusion::Activation;
using Pool = Fusion::Pool;

/// Returns the factory of an op's loops.
KernelFactory loops_of(Op op) {
  static const KernelTable table = [] {
    KernelTable all("reference");
    reference::add_reference_kernels(all);
    return all;
  }();
  return table.factory(op);
}

/// Kernels that run in sequence.
class Chain {
 public:
  Tensor make(const TensorType& type) {
    memory_.emplace_back(static_cast<std::size_t>(type.bytes()));
    return {.type = type, .data = memory_.back().data()};
  }

  void add(const KernelFactory& factory, const Attributes& attributes,
           const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
           std::span<VariableStorage* const> variables = {}) {
    Node node;
    node.attributes = attributes;
    kernels_.push_back(factory({.node = node,
                                .inputs = inputs,
                                .outputs = outputs,
                                .variables = variables,
                                .versions_seen = {}}));
  }
  void add(Op op, const Attributes& attributes, const std::vector<Tensor>& inputs,
           const std::vector<Tensor>& outputs, std::span<VariableStorage* const> variables = {}) {
    add(loops_of(op), attributes, inputs, outputs, variables);
  }

  void operator()(const StepContext& context) const {
    for (const KernelPointer& kernel : kernels_) kernel->run(context);
  }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<KernelPointer> kernels_;
};

Attributes window(const Fusion& fusion) {
  return {{"kernel", fusion.window}, {"stride", fusion.window}, {"padding", std::int64_t{0}}};
}

Op activate(const Fusion& fusion) {
  return fusion.activation == Activation::Relu ? Op::Relu : Op::Gelu;
}

/// Appends the activation's backward node: relu takes its result, gelu its argument.
Tensor activate_backward(Chain& chain, const Fusion& fusion, Tensor dy, Tensor z) {
  if (fusion.activation == Activation::None) return dy;
  const Tensor dz = chain.make(z.type);
  if (fusion.activation == Activation::Gelu) {
    chain.add(Op::GeluBackward, {}, {dy, z}, {dz});
  } else {
    const Tensor y = chain.make(z.type);
    chain.add(Op::Relu, {}, {z}, {y});
    chain.add(Op::ReluBackward, {}, {dy, y}, {dz});
  }
  return dz;
}

/// Kernel for picked = x at the positions of windows that do not overlap.
KernelPointer pick(const KernelRequest& request) {
  const Tensor x = request.inputs[0], positions = request.inputs[1], picked = request.outputs[0];
  const std::int64_t side = request.node.attributes.integer("kernel");
  return make_kernel([=](const StepContext&) {
    const std::int64_t rows = picked.type.dim(1), columns = picked.type.dim(2);
    const std::int64_t channels = picked.type.dim(3);
    for (std::int64_t i = 0; i < picked.elements(); ++i) {
      const std::int64_t c = i % channels, q = i / channels % columns;
      const std::int64_t p = i / channels / columns % rows, b = i / channels / columns / rows;
      const std::int64_t position = positions.as<std::uint8_t>()[i];
      const std::int64_t h = p * side + position / side, w = q * side + position % side;
      picked.f32()[i] = x.f32()[((b * x.type.dim(1) + h) * x.type.dim(2) + w) * channels + c];
    }
  });
}

/// Appends the ops after a normalisation, the last of which writes `y`: the activation, then a
/// pool, a residual or a copy.
void finish_forward(Chain& chain, const Fusion& fusion, Tensor z, const Tensor* residual, Tensor y,
                    Tensor positions) {
  if (fusion.activation != Activation::None) {
    const Tensor activated = chain.make(z.type);
    chain.add(activate(fusion), {}, {z}, {activated});
    z = activated;
  }
  if (fusion.pool == Pool::After) {
    chain.add(Op::MaxPool, window(fusion), {z}, {y, positions});
  } else if (residual != nullptr) {
    chain.add(Op::Add, {}, {*residual, z}, {y});
  } else {
    chain.add(Op::Scale, {{"factor", 1.0}}, {z}, {y});
  }
}

KernelPointer fused_normalize(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  Chain chain;
  Tensor x = request.inputs[0];
  const Tensor y = request.outputs[0];
  const Tensor positions = fusion.pool == Pool::None ? Tensor{} : request.outputs[4];
  if (fusion.pool == Pool::Before) {
    const Tensor picked = request.outputs[3];
    chain.add(Op::MaxPool, window(fusion), {x}, {picked, positions});
    x = picked;
  }
  const Tensor z = chain.make(x.type);
  chain.add(Op::Normalize, request.node.attributes, {x, request.inputs[1], request.inputs[2]},
            {z, request.outputs[1], request.outputs[2]}, request.variables);
  finish_forward(chain, fusion, z, request.inputs.size() > 3 ? &request.inputs[3] : nullptr, y,
                 positions);
  if (fusion.pool == Pool::After) {
    chain.add(pick, window(fusion), {x, positions}, {request.outputs[3]});
  }
  return make_kernel(std::move(chain));
}

KernelPointer fused_normalize_inference(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  Chain chain;
  Tensor x = request.inputs[0];
  const Tensor y = request.outputs[0];
  const Tensor positions = chain.make({ElementType::U8, y.type.dims});
  if (fusion.pool == Pool::Before) {
    const Tensor picked = chain.make(y.type);
    chain.add(Op::MaxPool, window(fusion), {x}, {picked, positions});
    x = picked;
  }
  const Tensor z = chain.make(x.type);
  chain.add(Op::NormalizeInference, request.node.attributes,
            {x, request.inputs[1], request.inputs[2], request.inputs[3], request.inputs[4]}, {z});
  finish_forward(chain, fusion, z, request.inputs.size() > 5 ? &request.inputs[5] : nullptr, y,
                 positions);
  return make_kernel(std::move(chain));
}

/// Kernel for scale (x - mean) inverse + shift with known statistics.
KernelPointer line(const KernelRequest& request) {
  const Tensor x = request.inputs[0], scale = request.inputs[1], shift = request.inputs[2];
  const Tensor mean = request.inputs[3], inverse = request.inputs[4], z = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    const std::int64_t channels = mean.type.dim(1);
    const std::int64_t group = x.elements() / mean.type.dim(0);
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const std::int64_t c = i % channels, at = i / group * channels + c;
      z.f32()[i] = static_cast<float>(
          double{scale.f32()[c]} * (double{x.f32()[i]} - mean.f32()[at]) * inverse.f32()[at] +
          shift.f32()[c]);
    }
  });
}

KernelPointer fused_normalize_backward(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  Chain chain;
  const Tensor dy = request.inputs[0], source = request.inputs[1], scale = request.inputs[2];
  const Tensor shift = request.inputs[3], mean = request.inputs[4], inverse = request.inputs[5];
  const Tensor dx = request.outputs[0];
  const Tensor z = chain.make(source.type);
  chain.add(line, {}, {source, scale, shift, mean, inverse}, {z});
  Tensor dz = activate_backward(chain, fusion, dy, z);
  // The normalisation's input, and its gradient.
  Tensor x = source, dn = dx;
  if (fusion.pool == Pool::After) {
    x = request.inputs[7];
    const Tensor spread = chain.make(x.type);
    chain.add(Op::MaxPoolBackward, window(fusion), {dz, request.inputs[6]}, {spread});
    dz = spread;
  }
  if (fusion.pool == Pool::Before) dn = chain.make(source.type);
  chain.add(Op::NormalizeBackward, request.node.attributes, {dz, x, scale, mean, inverse},
            {dn, request.outputs[1], request.outputs[2]});
  if (fusion.pool == Pool::Before) {
    chain.add(Op::MaxPoolBackward, window(fusion), {dn, request.inputs[6]}, {dx});
  }
  return make_kernel(std::move(chain));
}

KernelPointer fused_bias(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  Chain chain;
  const Tensor z = chain.make(request.inputs[0].type);
  chain.add(Op::Bias, {}, {request.inputs[0], request.inputs[1]}, {z});
  chain.add(activate(fusion), {}, {z}, {request.outputs[0]});
  return make_kernel(std::move(chain));
}

KernelPointer fused_bias_backward(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  Chain chain;
  const Tensor z = chain.make(request.inputs[1].type);
  chain.add(Op::Bias, {}, {request.inputs[1], request.inputs[2]}, {z});
  const Tensor dz = activate_backward(chain, fusion, request.inputs[0], z);
  chain.add(Op::BiasBackward, {}, {dz}, {request.outputs[0]});
  if (request.outputs.size() > 1) {
    chain.add(Op::Scale, {{"factor", 1.0}}, {dz}, {request.outputs[1]});
  }
  return make_kernel(std::move(chain));
}

}  // namespace

KernelRows fused_kernels() {
  return {{Op::FusedNormalize, fused_normalize},
          {Op::FusedNormalizeInference, fused_normalize_inference},
          {Op::FusedNormalizeBackward, fused_normalize_backward},
          {Op::FusedBias, fused_bias},
          {Op::FusedBiasBackward, fused_bias_backward}};
}

}  // namespace regatta::reference
