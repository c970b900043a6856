// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/op.h"

#include <array>

#include "kernels/graph/ops/rules.h"

namespace regatta {
namespace {

using namespace rules;

constexpr OpInfo compute(Op op, std::string_view name, InferRule infer,
                         GradientRule gradient = nullptr) {
  return {.op = op, .name = name, .infer = infer, .gradient = gradient};
}
constexpr OpInfo backward(Op op, std::string_view name, InferRule infer, Op forward) {
  OpInfo info = compute(op, name, infer);
  info.forward = forward;
  return info;
}
constexpr OpInfo view(Op op, std::string_view name, InferRule infer,
                      GradientRule gradient = nullptr) {
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
constexpr OpInfo learning(Op op, std::string_view name, InferRule infer) {
  OpInfo info = assigning(op, name, infer);
  info.learns = true;
  return info;
}
constexpr OpInfo crossing(Op op, std::string_view name, InferRule infer) {
  OpInfo info = compute(op, name, infer);
  info.crosses = true;
  return info;
}
constexpr OpInfo by_channels(OpInfo info) {
  info.portions = Portions::Channels;
  return info;
}
constexpr OpInfo by_heads(OpInfo info) {
  info.portions = Portions::Heads;
  return info;
}
constexpr OpInfo by_halves(OpInfo info) {
  info.portions = Portions::Halves;
  return info;
}
constexpr OpInfo by_elements(OpInfo info) {
  info.portions = Portions::Elements;
  return info;
}
constexpr OpInfo multiplying(OpInfo info, WorkRule multiply_adds) {
  info.multiply_adds = multiply_adds;
  return info;
}

// In the order of the enumeration; graph_test.cpp checks it.
constexpr std::array kOps = {
    compute(Op::Input, "input", infer_input),
    view(Op::Read, "read", infer_read),
    multiplying(compute(Op::Dense, "dense", infer_dense, gradient_dense), multiply_adds_dense),
    by_channels(compute(Op::Bias, "bias", infer_bias, gradient_bias)),
    by_channels(compute(Op::Tanh, "tanh", infer_like_first, gradient_tanh)),
    by_channels(compute(Op::Relu, "relu", infer_like_first, gradient_relu)),
    by_channels(compute(Op::Gelu, "gelu", infer_like_first, gradient_gelu)),
    by_halves(compute(Op::Swiglu, "swiglu", infer_swiglu, gradient_swiglu)),
    compute(Op::Embed, "embed", infer_embed, gradient_embed),
    by_channels(compute(Op::Positions, "positions", infer_positions, gradient_positions)),
    compute(Op::LayerNormalize, "layer_normalize", infer_layer_normalize, gradient_layer_normalize),
    by_heads(compute(Op::Rotary, "rotary", infer_rotary, gradient_rotary)),
    by_heads(multiplying(compute(Op::Attention, "attention", infer_attention, gradient_attention),
                         multiply_adds_attention)),
    multiplying(compute(Op::Convolution, "convolution", infer_convolution, gradient_convolution),
                multiply_adds_convolution),
    by_channels(compute(Op::MaxPool, "max_pool", infer_max_pool, gradient_max_pool)),
    by_channels(
        compute(Op::AveragePool, "average_pool", infer_average_pool, gradient_average_pool)),
    by_channels(assigning(Op::Normalize, "normalize", infer_normalize, gradient_normalize)),
    compute(Op::NormalizeInference, "normalize_inference", infer_normalize_inference),
    by_elements(compute(Op::Add, "add", infer_add, gradient_add)),
    by_elements(compute(Op::Scale, "scale", infer_like_first, gradient_scale)),
    by_channels(view(Op::Reshape, "reshape", infer_reshape, gradient_reshape)),
    view(Op::Slice, "slice", infer_slice),
    compute(Op::Concatenate, "concatenate", infer_concatenate),
    compute(Op::Take, "take", infer_take),
    compute(Op::Put, "put", infer_put),
    by_elements(compute(Op::Cast, "cast", infer_cast, gradient_cast)),
    compute(Op::Translate, "translate", infer_translate),
    compute(Op::SoftmaxCrossEntropy, "softmax_cross_entropy", infer_softmax_cross_entropy,
            gradient_softmax_cross_entropy),
    compute(Op::SoftmaxPart, "softmax_part", infer_softmax_part),
    compute(Op::CrossEntropyOfParts, "cross_entropy_of_parts", infer_cross_entropy_of_parts),
    compute(Op::MeanSquaredError, "mean_squared_error", infer_mean_squared_error,
            gradient_mean_squared_error),
    compute(Op::CountCorrect, "count_correct", infer_count_correct),
    multiplying(backward(Op::DenseBackwardData, "dense_backward_data", infer_dense_backward_data,
                         Op::Dense),
                multiply_adds_dense),
    multiplying(backward(Op::DenseBackwardWeights, "dense_backward_weights",
                         infer_dense_backward_weights, Op::Dense),
                multiply_adds_dense_weights),
    backward(Op::BiasBackward, "bias_backward", infer_bias_backward, Op::Bias),
    backward(Op::TanhBackward, "tanh_backward", infer_like_first, Op::Tanh),
    backward(Op::ReluBackward, "relu_backward", infer_like_first, Op::Relu),
    backward(Op::GeluBackward, "gelu_backward", infer_like_first, Op::Gelu),
    backward(Op::SwigluBackward, "swiglu_backward", infer_swiglu_backward, Op::Swiglu),
    backward(Op::EmbedBackward, "embed_backward", infer_embed_backward, Op::Embed),
    backward(Op::PositionsBackward, "positions_backward", infer_positions_backward, Op::Positions),
    backward(Op::LayerNormalizeBackward, "layer_normalize_backward", infer_layer_normalize_backward,
             Op::LayerNormalize),
    multiplying(backward(Op::AttentionBackward, "attention_backward", infer_attention_backward,
                         Op::Attention),
                multiply_adds_attention_backward),
    multiplying(backward(Op::ConvolutionBackwardData, "convolution_backward_data",
                         infer_shaped_like_attribute, Op::Convolution),
                multiply_adds_convolution_data),
    multiplying(backward(Op::ConvolutionBackwardWeights, "convolution_backward_weights",
                         infer_shaped_like_attribute, Op::Convolution),
                multiply_adds_convolution_weights),
    backward(Op::MaxPoolBackward, "max_pool_backward", infer_pool_backward, Op::MaxPool),
    backward(Op::AveragePoolBackward, "average_pool_backward", infer_pool_backward,
             Op::AveragePool),
    backward(Op::NormalizeBackward, "normalize_backward", infer_normalize_backward, Op::Normalize),
    backward(Op::SoftmaxCrossEntropyBackward, "softmax_cross_entropy_backward",
             infer_softmax_cross_entropy_backward, Op::SoftmaxCrossEntropy),
    backward(Op::SoftmaxPartBackward, "softmax_part_backward", infer_softmax_part_backward,
             Op::CrossEntropyOfParts),
    backward(Op::MeanSquaredErrorBackward, "mean_squared_error_backward",
             infer_mean_squared_error_backward, Op::MeanSquaredError),
    by_channels(assigning(Op::FusedNormalize, "fused_normalize", infer_fused_normalize)),
    backward(Op::FusedNormalizeBackward, "fused_normalize_backward", infer_fused_normalize_backward,
             Op::FusedNormalize),
    compute(Op::FusedNormalizeInference, "fused_normalize_inference",
            infer_fused_normalize_inference),
    by_channels(compute(Op::FusedBias, "fused_bias", infer_bias)),
    backward(Op::FusedBiasBackward, "fused_bias_backward", infer_fused_bias_backward,
             Op::FusedBias),
    by_elements(compute(Op::Sum, "sum", infer_sum)),
    crossing(Op::Copy, "copy", infer_copy),
    crossing(Op::Send, "send", infer_send),
    crossing(Op::Sent, "sent", infer_send),
    crossing(Op::Receive, "receive", infer_receive),
    by_elements(crossing(Op::AllReduce, "all_reduce", infer_all_reduce)),
    crossing(Op::ReduceScatter, "reduce_scatter", infer_reduce_scatter),
    crossing(Op::AllGather, "all_gather", infer_all_gather),
    compute(Op::Arrival, "arrival", infer_arrival),
    assigning(Op::Quorum, "quorum", infer_quorum),  // keeps pushes from one step to the next
    compute(Op::Orthogonalize, "orthogonalize", infer_orthogonalize),
    compute(Op::Quotient, "quotient", infer_quotient),
    compute(Op::SquaredNorm, "squared_norm", infer_squared_norm),
    compute(Op::ClipDivisor, "clip_divisor", infer_clip_divisor),
    compute(Op::TopK, "top_k", infer_top_k),
    compute(Op::ScatterAdd, "scatter_add", infer_scatter_add),
    compute(Op::Quantize, "quantize", infer_quantize),
    compute(Op::Dequantize, "dequantize", infer_dequantize),
    by_elements(learning(Op::Sgd, "sgd", infer_sgd)),
    by_elements(learning(Op::Adam, "adam", infer_adam)),
    multiplying(learning(Op::Muon, "muon", infer_muon), multiply_adds_muon),
    by_elements(assigning(Op::Assign, "assign", infer_assign)),
    by_elements(assigning(Op::Average, "average", infer_average)),
    assigning(Op::AverageWith, "average_with", infer_average_with),
    by_elements(assigning(Op::Lookahead, "lookahead", infer_lookahead)),
};

}  // namespace

const OpInfo& op_info(Op op) {
  const auto index = static_cast<std::size_t>(op);
  check(index < kOps.size() && kOps[index].op == op, "the op table is in the order of the enum");
  return kOps[index];
}

std::span<const OpInfo> all_ops() { return kOps; }

}  // namespace regatta
