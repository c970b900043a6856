// SPDX-License-Identifier: Apache-2.0
//
// Builds a device's kernel of muon (MuonOptions in kernels/graph/builder.h) from its kernels of
// other ops: products by dense and its gradients, |d|² by squared_norm, and the step by sgd, whose
// gradient is o, scaled by the last polynomial, and which decays weights and counts the update. A
// and its polynomial are symmetric, so that no matrix is transposed.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

/// The kernels of one device that muon consists of.
struct MuonKernels {
  KernelTable table;  ///< of dense, dense_backward_data, dense_backward_weights, squared_norm, sgd
  /// Assigns m and computes d. Input g; output d; variables: w, whose sharing m has, and m.
  KernelPointer (*direction)(const KernelRequest&);
  /// Computes X = d / max(|d|, 1e-7). Inputs d, |d|²; output X.
  KernelPointer (*normalize)(const KernelRequest&);
  /// Scales w to the norm that is the attribute `norm`. Input |w|²; variable w.
  KernelPointer (*rescale)(const KernelRequest&);
  /// Computes the polynomial of A, times the attribute `factor`. Inputs A, A²; output: in A²'s
  /// place.
  KernelPointer (*polynomial)(const KernelRequest&);
};

class MuonBuilder {
 public:
  MuonBuilder(const KernelRequest& request, const MuonKernels& device)
      : request_(request), device_(device) {}

  KernelPointer build() {
    const Tensor& g = request_.inputs[0];
    const Tensor& d = request_.outputs[0];
    const Attributes& attributes = request_.node.attributes;
    add(device_.direction, attributes, {g}, d);
    for (std::int64_t p = 0; p < request_.outputs[kNorm].elements(); ++p) orthogonalize(p);
    if (attributes.integer("normalized") != 0) normalize_weights();
    Attributes step = attributes;
    step.set("momentum", 0.0);
    step.set("nesterov", std::int64_t{0});
    add(Op::Sgd, {d}, {}, step);
    return make_kernel([kernels = std::move(kernels_)](const StepContext& context) {
      for (const KernelPointer& kernel : kernels) kernel->run(context);
    });
  }

 private:
  static constexpr std::size_t kX = 1, kNext = 2, kA = 3, kPolynomial = 4, kNorm = 5;

  /// The p-th matrix of an output.
  Tensor matrix(std::size_t output, std::int64_t p) const {
    const Tensor& all = request_.outputs[output];
    const TensorType type{all.type.element, {all.type.dims.end()[-2], all.type.columns()}};
    return {.type = type, .data = all.as<std::byte>() + p * type.bytes()};
  }

  void orthogonalize(std::int64_t p) {
    const Tensor d = matrix(0, p), a = matrix(kA, p), polynomial = matrix(kPolynomial, p);
    const Tensor norm{.type = {}, .data = request_.outputs[kNorm].f32() + p};
    const bool is_tall = d.type.rows() > d.type.columns();
    const Attributes& attributes = request_.node.attributes;
    Tensor x = matrix(kX, p), next = matrix(kNext, p);
    add(Op::SquaredNorm, {d}, norm);
    add(device_.normalize, {}, {d, norm}, x);
    for (std::int64_t left = attributes.integer("iterations") - 1; left >= 0; --left) {
      add(is_tall ? Op::DenseBackwardWeights : Op::Dense, {x, x}, a);
      add(Op::Dense, {a, a}, polynomial);
      const double factor = left > 0 ? 1 : attributes.real("weight") * attributes.real("scale");
      add(device_.polynomial, {{"factor", factor}}, {a, polynomial}, polynomial);
      const Tensor& result = left > 0 ? next : d;
      is_tall ? add(Op::Dense, {x, polynomial}, result)
              : add(Op::DenseBackwardData, {polynomial, x}, result);
      std::swap(x, next);
    }
  }

  void normalize_weights() {
    const Tensor d = matrix(0, 0), norm{.type = {}, .data = request_.outputs[kNorm].f32()};
    const Tensor w{.type = d.type, .data = request_.variables[0]->tensor.data};
    add(Op::SquaredNorm, {w}, norm);
    add(device_.rescale, {{"norm", std::sqrt(static_cast<double>(d.type.rows()))}}, {norm}, d);
  }

  void add(Op op, const std::vector<Tensor>& inputs, const Tensor& output,
           const Attributes& attributes = {}) {
    add([&](const KernelRequest& part) { return device_.table.build(part); }, attributes, inputs,
        output, op);
  }

  template <typename Factory>
  void add(const Factory& factory, const Attributes& attributes, const std::vector<Tensor>& inputs,
           const Tensor& output, Op op = Op::Muon) {
    KernelRequest part = request_;
    part.node = {.op = op, .attributes = attributes};
    part.inputs = inputs;
    part.outputs = {&output, 1};
    kernels_.push_back(factory(part));
  }

  const KernelRequest& request_;
  const MuonKernels& device_;
  std::vector<KernelPointer> kernels_;
};

}  // namespace regatta
