// SPDX-License-Identifier: Apache-2.0
//
// The rules in the op table: an inference rule for each op, and a gradient rule for each
// differentiable op. Each .cpp file here holds an op together with its backward ops.
#pragma once

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/op.h"

namespace regatta::rules {

using Types = std::vector<TensorType>;
using Values = std::vector<Value>;

// input.cpp
Types infer_input(const InferRequest&);
Types infer_read(const InferRequest&);

// dense.cpp
Types infer_dense(const InferRequest&);
Types infer_dense_backward_data(const InferRequest&);
Types infer_dense_backward_weights(const InferRequest&);
Types infer_bias(const InferRequest&);
Types infer_bias_backward(const InferRequest&);
std::int64_t multiply_adds_dense(const Graph&, const Node&);  ///< also for its gradient by x
std::int64_t multiply_adds_dense_weights(const Graph&, const Node&);
Values gradient_dense(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_bias(Builder&, Value, const Node&, std::span<const Value>);

// activation.cpp
Types infer_like_first(const InferRequest&);
Values gradient_tanh(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_relu(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_gelu(Builder&, Value, const Node&, std::span<const Value>);
Types infer_swiglu(const InferRequest&);
Types infer_swiglu_backward(const InferRequest&);
Values gradient_swiglu(Builder&, Value, const Node&, std::span<const Value>);

// embedding.cpp
Types infer_embed(const InferRequest&);
Types infer_embed_backward(const InferRequest&);
Types infer_positions(const InferRequest&);
Types infer_positions_backward(const InferRequest&);
Values gradient_embed(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_positions(Builder&, Value, const Node&, std::span<const Value>);

// layer_normalize.cpp
Types infer_layer_normalize(const InferRequest&);
Types infer_layer_normalize_backward(const InferRequest&);
Values gradient_layer_normalize(Builder&, Value, const Node&, std::span<const Value>);

// attention.cpp
Types infer_rotary(const InferRequest&);
Types infer_attention(const InferRequest&);
Types infer_attention_backward(const InferRequest&);
Values gradient_rotary(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_attention(Builder&, Value, const Node&, std::span<const Value>);
std::int64_t multiply_adds_attention(const Graph&, const Node&);
std::int64_t multiply_adds_attention_backward(const Graph&, const Node&);

// clip.cpp
Types infer_squared_norm(const InferRequest&);
Types infer_clip_divisor(const InferRequest&);

// convolution.cpp
Types infer_convolution(const InferRequest&);
Types infer_shaped_like_attribute(const InferRequest&);  ///< shape: attribute `dims`
std::int64_t multiply_adds_convolution(const Graph&, const Node&);
std::int64_t multiply_adds_convolution_data(const Graph&, const Node&);
std::int64_t multiply_adds_convolution_weights(const Graph&, const Node&);
Values gradient_convolution(Builder&, Value, const Node&, std::span<const Value>);

// pool.cpp
Types infer_max_pool(const InferRequest&);
Types infer_average_pool(const InferRequest&);
Types infer_pool_backward(const InferRequest&);
Values gradient_max_pool(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_average_pool(Builder&, Value, const Node&, std::span<const Value>);

// normalize.cpp
Types infer_normalize(const InferRequest&);
Types infer_normalize_inference(const InferRequest&);
Types infer_normalize_backward(const InferRequest&);
Values gradient_normalize(Builder&, Value, const Node&, std::span<const Value>);

// fused.cpp
Types infer_fused_normalize(const InferRequest&);
Types infer_fused_normalize_backward(const InferRequest&);
Types infer_fused_normalize_inference(const InferRequest&);
Types infer_fused_bias_backward(const InferRequest&);

// arithmetic.cpp
Types infer_add(const InferRequest&);
Types infer_sum(const InferRequest&);
Types infer_orthogonalize(const InferRequest&);
Types infer_quotient(const InferRequest&);
Types infer_top_k(const InferRequest&);
Types infer_scatter_add(const InferRequest&);
Types infer_quantize(const InferRequest&);
Types infer_dequantize(const InferRequest&);
Types infer_reshape(const InferRequest&);
Types infer_slice(const InferRequest&);
Types infer_concatenate(const InferRequest&);
Types infer_take(const InferRequest&);
Types infer_put(const InferRequest&);
Types infer_cast(const InferRequest&);
Types infer_translate(const InferRequest&);
Values gradient_add(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_scale(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_reshape(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_cast(Builder&, Value, const Node&, std::span<const Value>);

// loss.cpp
Types infer_softmax_cross_entropy(const InferRequest&);
Types infer_softmax_cross_entropy_backward(const InferRequest&);
Types infer_softmax_part(const InferRequest&);
Types infer_softmax_part_backward(const InferRequest&);
Types infer_cross_entropy_of_parts(const InferRequest&);
Types infer_mean_squared_error(const InferRequest&);
Types infer_mean_squared_error_backward(const InferRequest&);
Types infer_count_correct(const InferRequest&);
Values gradient_softmax_cross_entropy(Builder&, Value, const Node&, std::span<const Value>);
Values gradient_mean_squared_error(Builder&, Value, const Node&, std::span<const Value>);

// communication.cpp
Types infer_copy(const InferRequest&);
Types infer_send(const InferRequest&);
Types infer_receive(const InferRequest&);
Types infer_all_reduce(const InferRequest&);
Types infer_reduce_scatter(const InferRequest&);
Types infer_all_gather(const InferRequest&);

// quorum.cpp
Types infer_arrival(const InferRequest&);
Types infer_quorum(const InferRequest&);

// update.cpp
Types infer_sgd(const InferRequest&);
Types infer_adam(const InferRequest&);
Types infer_muon(const InferRequest&);
std::int64_t multiply_adds_muon(const Graph&, const Node&);
Types infer_assign(const InferRequest&);
Types infer_average(const InferRequest&);
Types infer_average_with(const InferRequest&);
Types infer_lookahead(const InferRequest&);

}  // namespace regatta::rules
