// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/op.h"

#include <array>

#include "kernels/graph/ops/rules.h"

namespace regatta {
namespace {

using namespace rules;

constexpr OpInfo compute(Op op, std::string_view name, InferRule infer,
                         GradientRule gradient = nullptr) {
  return {.op = op,
          .name = name,
          .infer = infer,
          .gradient = gradient,
          .assigns = false,
          .view = false,
          .crosses = false};
}
constexpr OpInfo view(Op op, std::string_view name, InferRule infer, GradientRule gradient) {
  OpInfo info = compute(op, name, infer, gradient);
  info.view = true;
  return info;
}
constexpr OpInfo assigning(Op op, std::string_view name, InferRule infer,
                           GradientRule gradient = nullptr) {
  OpInfo info = compute(op, name, infer, gradient);
  info.assigns = true;
  return info;
}
constexpr OpInfo crossing(Op op, std::string_view name, InferRule infer) {
  OpInfo info = compute(op, name, infer);
  info.crosses = true;
  return info;
}

// In the order of the enumeration; graph_test.cpp checks it.
constexpr std::array kOps = {
    compute(Op::Input, "input", infer_input),
    view(Op::Read, "read", infer_read, nullptr),
    compute(Op::Dense, "dense", infer_dense, gradient_dense),
    compute(Op::Bias, "bias", infer_bias, gradient_bias),
    compute(Op::Tanh, "tanh", infer_like_first, gradient_tanh),
    compute(Op::Relu, "relu", infer_like_first, gradient_relu),
    compute(Op::Gelu, "gelu", infer_like_first, gradient_gelu),
    compute(Op::Convolution, "convolution", infer_convolution, gradient_convolution),
    compute(Op::MaxPool, "max_pool", infer_max_pool, gradient_max_pool),
    compute(Op::AveragePool, "average_pool", infer_average_pool, gradient_average_pool),
    assigning(Op::Normalize, "normalize", infer_normalize, gradient_normalize),
    compute(Op::NormalizeInference, "normalize_inference", infer_normalize_inference),
    compute(Op::Add, "add", infer_add, gradient_add),
    compute(Op::Scale, "scale", infer_like_first, gradient_scale),
    view(Op::Reshape, "reshape", infer_reshape, gradient_reshape),
    view(Op::Slice, "slice", infer_slice, nullptr),
    compute(Op::Concatenate, "concatenate", infer_concatenate),
    compute(Op::Cast, "cast", infer_cast, gradient_cast),
    compute(Op::Translate, "translate", infer_translate),
    compute(Op::SoftmaxCrossEntropy, "softmax_cross_entropy", infer_softmax_cross_entropy,
            gradient_softmax_cross_entropy),
    compute(Op::MeanSquaredError, "mean_squared_error", infer_mean_squared_error,
            gradient_mean_squared_error),
    compute(Op::CountCorrect, "count_correct", infer_count_correct),
    compute(Op::DenseBackwardData, "dense_backward_data", infer_dense_backward_data),
    compute(Op::DenseBackwardWeights, "dense_backward_weights", infer_dense_backward_weights),
    compute(Op::BiasBackward, "bias_backward", infer_bias_backward),
    compute(Op::TanhBackward, "tanh_backward", infer_like_first),
    compute(Op::ReluBackward, "relu_backward", infer_like_first),
    compute(Op::GeluBackward, "gelu_backward", infer_like_first),
    compute(Op::ConvolutionBackwardData, "convolution_backward_data", infer_shaped_like_attribute),
    compute(Op::ConvolutionBackwardWeights, "convolution_backward_weights",
            infer_shaped_like_attribute),
    compute(Op::MaxPoolBackward, "max_pool_backward", infer_pool_backward),
    compute(Op::AveragePoolBackward, "average_pool_backward", infer_pool_backward),
    compute(Op::NormalizeBackward, "normalize_backward", infer_normalize_backward),
    compute(Op::SoftmaxCrossEntropyBackward, "softmax_cross_entropy_backward",
            infer_softmax_cross_entropy_backward),
    compute(Op::MeanSquaredErrorBackward, "mean_squared_error_backward",
            infer_mean_squared_error_backward),
    assigning(Op::FusedNormalize, "fused_normalize", infer_fused_normalize),
    compute(Op::FusedNormalizeBackward, "fused_normalize_backward", infer_fused_normalize_backward),
    compute(Op::FusedNormalizeInference, "fused_normalize_inference",
            infer_fused_normalize_inference),
    compute(Op::FusedBias, "fused_bias", infer_bias),
    compute(Op::FusedBiasBackward, "fused_bias_backward", infer_fused_bias_backward),
    compute(Op::Sum, "sum", infer_sum),
    crossing(Op::Copy, "copy", infer_copy),
    crossing(Op::Send, "send", infer_send),
    crossing(Op::Sent, "sent", infer_send),
    crossing(Op::Receive, "receive", infer_receive),
    crossing(Op::AllReduce, "all_reduce", infer_all_reduce),
    crossing(Op::ReduceScatter, "reduce_scatter", infer_reduce_scatter),
    crossing(Op::AllGather, "all_gather", infer_all_gather),
    compute(Op::Arrival, "arrival", infer_arrival),
    assigning(Op::Quorum, "quorum", infer_quorum),  // keeps pushes from one step to the next
    compute(Op::Orthogonalize, "orthogonalize", infer_orthogonalize),
    compute(Op::Quotient, "quotient", infer_quotient),
    compute(Op::TopK, "top_k", infer_top_k),
    compute(Op::ScatterAdd, "scatter_add", infer_scatter_add),
    assigning(Op::Sgd, "sgd", infer_sgd),
    assigning(Op::Adam, "adam", infer_adam),
    assigning(Op::Assign, "assign", infer_assign),
    assigning(Op::Average, "average", infer_average),
    assigning(Op::AverageWith, "average_with", infer_average_with),
    assigning(Op::Lookahead, "lookahead", infer_lookahead),
};

}  // namespace

const OpInfo& op_info(Op op) {
  const auto index = static_cast<std::size_t>(op);
  check(index < kOps.size() && kOps[index].op == op, "the op table is in the order of the enum");
  return kOps[index];
}

std::span<const OpInfo> all_ops() { return kOps; }

Op forward_of(Op op) {
  switch (op) {
    case Op::DenseBackwardData:
    case Op::DenseBackwardWeights: return Op::Dense;
    case Op::BiasBackward: return Op::Bias;
    case Op::TanhBackward: return Op::Tanh;
    case Op::ReluBackward: return Op::Relu;
    case Op::GeluBackward: return Op::Gelu;
    case Op::ConvolutionBackwardData:
    case Op::ConvolutionBackwardWeights: return Op::Convolution;
    case Op::MaxPoolBackward: return Op::MaxPool;
    case Op::AveragePoolBackward: return Op::AveragePool;
    case Op::NormalizeBackward: return Op::Normalize;
    case Op::SoftmaxCrossEntropyBackward: return Op::SoftmaxCrossEntropy;
    case Op::MeanSquaredErrorBackward: return Op::MeanSquaredError;
    case Op::FusedNormalizeBackward: return Op::FusedNormalize;
    case Op::FusedBiasBackward: return Op::FusedBias;
    default: return op;
  }
}

}  // namespace regatta
