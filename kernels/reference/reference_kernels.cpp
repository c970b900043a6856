// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/reference_kernels.h"

#include <algorithm>

#include "kernels/reference/factories.h"

namespace regatta {
namespace {

using Factory = std::unique_ptr<Kernel> (*)(const KernelRequest&);

bool has_bf16(std::span<const Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const Tensor& t) { return t.type.element == ElementType::BF16; });
}

/// Wraps a factory of loops that handle only float, so that bf16 operands get no kernel.
KernelFactory f32_only(Factory factory) {
  return [factory](const KernelRequest& request) -> std::unique_ptr<Kernel> {
    if (has_bf16(request.inputs) || has_bf16(request.outputs)) return nullptr;
    return factory(request);
  };
}

void add_forward(KernelTable& table) {
  table.add(Op::Dense, f32_only(reference::dense));
  table.add(Op::Bias, f32_only(reference::bias));
  table.add(Op::Tanh, f32_only(reference::tanh));
  table.add(Op::Relu, f32_only(reference::relu));
  table.add(Op::Gelu, f32_only(reference::gelu));
  table.add(Op::Convolution, f32_only(reference::convolution));
  table.add(Op::MaxPool, f32_only(reference::max_pool));
  table.add(Op::AveragePool, f32_only(reference::average_pool));
  table.add(Op::Normalize, f32_only(reference::normalize));
  table.add(Op::NormalizeInference, f32_only(reference::normalize_inference));
  table.add(Op::Add, f32_only(reference::add));
  table.add(Op::Scale, f32_only(reference::scale));
  table.add(Op::Translate, f32_only(reference::translate));
  table.add(Op::Sum, f32_only(reference::sum));
  table.add(Op::SoftmaxCrossEntropy, f32_only(reference::softmax_cross_entropy));
  table.add(Op::MeanSquaredError, f32_only(reference::mean_squared_error));
  table.add(Op::CountCorrect, f32_only(reference::count_correct));
}

void add_backward(KernelTable& table) {
  table.add(Op::DenseBackwardData, f32_only(reference::dense_backward_data));
  table.add(Op::DenseBackwardWeights, f32_only(reference::dense_backward_weights));
  table.add(Op::BiasBackward, f32_only(reference::bias_backward));
  table.add(Op::TanhBackward, f32_only(reference::tanh_backward));
  table.add(Op::ReluBackward, f32_only(reference::relu_backward));
  table.add(Op::GeluBackward, f32_only(reference::gelu_backward));
  table.add(Op::ConvolutionBackwardData, f32_only(reference::convolution_backward_data));
  table.add(Op::ConvolutionBackwardWeights, f32_only(reference::convolution_backward_weights));
  table.add(Op::MaxPoolBackward, f32_only(reference::max_pool_backward));
  table.add(Op::AveragePoolBackward, f32_only(reference::average_pool_backward));
  table.add(Op::NormalizeBackward, f32_only(reference::normalize_backward));
  table.add(Op::SoftmaxCrossEntropyBackward, f32_only(reference::softmax_cross_entropy_backward));
  table.add(Op::MeanSquaredErrorBackward, f32_only(reference::mean_squared_error_backward));
}

void add_fused(KernelTable& table) {
  table.add(Op::FusedNormalize, f32_only(reference::fused_normalize));
  table.add(Op::FusedNormalizeInference, f32_only(reference::fused_normalize_inference));
  table.add(Op::FusedNormalizeBackward, f32_only(reference::fused_normalize_backward));
  table.add(Op::FusedBias, f32_only(reference::fused_bias));
  table.add(Op::FusedBiasBackward, f32_only(reference::fused_bias_backward));
}

}  // namespace

void add_reference_kernels(KernelTable& table) {
  add_forward(table);
  add_backward(table);
  add_fused(table);
  table.add(Op::Read, reference::read);
  table.add(Op::Concatenate, reference::concatenate);
  table.add(Op::Cast, reference::cast);
  table.add(Op::Copy, reference::copy);
  table.add(Op::Orthogonalize, f32_only(reference::orthogonalize));
  table.add(Op::Quotient, f32_only(reference::quotient));
  table.add(Op::TopK, f32_only(reference::top_k));
  table.add(Op::ScatterAdd, f32_only(reference::scatter_add));
  table.add(Op::Sgd, f32_only(reference::sgd));
  table.add(Op::Adam, f32_only(reference::adam));
  table.add(Op::Assign, reference::assign);
  table.add(Op::Average, reference::average);
  table.add(Op::AverageWith, reference::average_with);
  table.add(Op::Lookahead, f32_only(reference::lookahead));
}

}  // namespace regatta
