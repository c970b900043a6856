// SPDX-License-Identifier: Apache-2.0
//
// The ops and their properties: name, inference of output types, gradient, and whether the op
// assigns its variables. op.cpp has the table of all ops; ops/ has their rules. The kernel table
// (kernels/runtime) lists the code that computes an op on a device.
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
  Copy,  ///< sends a value to another place in the same process
  Send,  ///< sends values to another process
  Sent,  ///< waits until values are sent, after which they may be overwritten
  Receive,
  AllReduce,
  ReduceScatter,  ///< like all_reduce, but each member keeps only its share of the sums
  AllGather,      ///< each member collects the shares of all members
  Arrival,        ///< at a server: all gradients of a worker have arrived
  Quorum,  ///< at a server: decides whether a worker's push counts; sums the pushes once enough
           ///< have counted
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

/// The arguments of an inference rule. `inputs` and `variables` are the types of the node's inputs
/// and variables.
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

/// Appends the backward nodes of `node`. `gradients[i]` is the gradient of its output i; a default
/// Value stands for zero. Returns a gradient for each input; a default Value means that the input
/// has none.
using GradientRule = std::vector<Value> (*)(Builder& builder, Value node_output0, const Node& node,
                                            std::span<const Value> gradients);

struct OpInfo {
  Op op;
  std::string_view name;
  InferRule infer;
  GradientRule gradient;  ///< null: no gradient is propagated through this op
  bool assigns;           ///< true: the op assigns its variables; false: it only reads them
  bool view;     ///< whether output 0 shares memory with input 0 (for Read: with the variable)
  bool crosses;  ///< whether the op communicates between places
};

const OpInfo& op_info(Op op);
std::span<const OpInfo> all_ops();
inline std::string_view to_string(Op op) { return op_info(op).name; }
/// Whether the op averages variables of replicas with one another.
inline bool is_average(Op op) { return op == Op::Average || op == Op::AverageWith; }
/// Returns the forward op of a backward op; for all other ops, returns `op`.
Op forward_of(Op op);

}  // namespace regatta
