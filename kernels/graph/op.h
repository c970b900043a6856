// SPDX-License-Identifier: Apache-2.0
//
// The ops and the properties that the graph uses: name, inference of output types, gradient, and
// whether the op assigns its variables. One explicit table (op.cpp); the rules of an op are in
// ops/. The kernel table (kernels/runtime) lists the code that computes an op on a device.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/graph/attributes.h"
#include "kernels/graph/tensor_type.h"

namespace regatta {

enum class Op : std::uint8_t {
  // input and state
  Input,  ///< a slice of the global batch, augmented
  Read,   ///< the value of a variable
  // forward
  Dense,
  Bias,
  Tanh,
  Relu,
  Gelu,
  Convolution,
  MaxPool,
  AveragePool,
  Normalize,
  NormalizeInference,
  Add,
  Scale,
  Reshape,
  Slice,
  Concatenate,
  Cast,
  Translate,
  SoftmaxCrossEntropy,
  MeanSquaredError,
  CountCorrect,
  // backward
  DenseBackwardData,
  DenseBackwardWeights,
  BiasBackward,
  TanhBackward,
  ReluBackward,
  GeluBackward,
  ConvolutionBackwardData,
  ConvolutionBackwardWeights,
  MaxPoolBackward,
  AveragePoolBackward,
  NormalizeBackward,
  SoftmaxCrossEntropyBackward,
  MeanSquaredErrorBackward,
  // several of the above fused into one (fuse.h)
  FusedNormalize,
  FusedNormalizeBackward,
  FusedNormalizeInference,
  FusedBias,
  FusedBiasBackward,
  // between places
  Sum,   ///< n values added and scaled; the mean if the factor is 1 / n
  Copy,  ///< to another device of the same process
  Send,  ///< to another process
  Sent,  ///< waits until its values are sent: they may be overwritten then
  Receive,
  AllReduce,
  ReduceScatter,  ///< an all_reduce of which each member keeps only its share of the sums
  AllGather,      ///< collects the shares of all members at each member
  Arrival,        ///< at a server: all gradients of a worker have arrived
  Quorum,         ///< at a server: decides whether a worker's push counts, and sums once enough do
  Orthogonalize,  ///< makes the columns of a matrix orthonormal or zero
  Quotient,       ///< divides a value by one number
  TopK,           ///< the elements of largest magnitude, and x without them
  ScatterAdd,     ///< adds the elements that several top_k have selected
  // updates
  Sgd,
  Adam,
  Assign,       ///< stores a value in a variable
  Average,      ///< stores the mean of a replica's variable and another replica's in both
  AverageWith,  ///< stores the mean of a variable and a value in the variable; yields the mean
  Lookahead,
};

/// The inputs of type inference.
struct InferRequest {
  std::span<const TensorType> inputs;
  std::span<const TensorType> variables;
  const Attributes& attributes;
  std::int64_t member = 0;  ///< Node::member
};
using InferRule = std::vector<TensorType> (*)(const InferRequest&);

class Builder;
struct Node;
struct Value;

/// Appends backward nodes. `gradients` belong to the node's outputs; a default Value is zero.
/// Returns one gradient for each input; a default Value means that the input has none.
using GradientRule = std::vector<Value> (*)(Builder& builder, Value node_output0, const Node& node,
                                            std::span<const Value> gradients);

struct OpInfo {
  Op op;
  std::string_view name;
  InferRule infer;
  GradientRule gradient;  ///< null: no gradient flows through this op
  bool assigns;           ///< assigns its variables; otherwise reads them
  bool view;              ///< output 0 shares memory with input 0 (Read: with the variable)
  bool crosses;           ///< communication between places
};

const OpInfo& op_info(Op op);
std::span<const OpInfo> all_ops();
inline std::string_view to_string(Op op) { return op_info(op).name; }
/// Whether the op averages variables of replicas with one another.
inline bool is_average(Op op) { return op == Op::Average || op == Op::AverageWith; }
/// The forward op that belongs to a backward op; `op` itself if it is no backward op.
Op forward_of(Op op);

}  // namespace regatta
