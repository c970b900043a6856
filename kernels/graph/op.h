// SPDX-License-Identifier: Apache-2.0
//
// The ops and what the graph knows of each: name, inference of output types, gradient, and whether
// it assigns its variables. One explicit table (op.cpp); the rules of an op live in ops/. The
// kernel table (kernels/runtime) says which code computes an op on a device.
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
  // several of the above as one (fuse.h)
  FusedNormalize,
  FusedNormalizeBackward,
  FusedNormalizeInference,
  FusedBias,
  FusedBiasBackward,
  // between places
  Sum,   ///< of n values times a factor: the mean of n where the factor is 1 / n
  Copy,  ///< to another device of the same process
  Send,  ///< to another process
  Sent,  ///< all that values travel in has left: they may be overwritten
  Receive,
  AllReduce,
  ReduceScatter,  ///< the sums of an all_reduce, of which each member keeps a share
  AllGather,      ///< the shares of all members, at each of them
  Arrival,        ///< at a server: all gradients of a worker have arrived
  Quorum,         ///< at a server: whether a worker's push counts, and the sum once enough do
  Orthogonalize,  ///< the columns of a matrix, each of length one or zero
  Quotient,       ///< of a value and one number
  TopK,           ///< the elements of largest magnitude, and what is left without them
  ScatterAdd,     ///< adds what several top_k have selected
  // updates
  Sgd,
  Adam,
  Assign,       ///< a value becomes the variable's
  Average,      ///< a replica's variable and another's both take the mean
  AverageWith,  ///< a variable takes its mean with a value, and gives it
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

/// Appends backward nodes. `gradients` are those of the node's outputs; a default Value is zero.
/// Returns one gradient for each input; a default Value means that the input has none.
using GradientRule = std::vector<Value> (*)(Builder& builder, Value node_output0, const Node& node,
                                            std::span<const Value> gradients);

struct OpInfo {
  Op op;
  std::string_view name;
  InferRule infer;
  GradientRule gradient;  ///< null: no gradient flows through this op
  bool assigns;           ///< assigns the variables it names; otherwise reads them
  bool view;              ///< output 0 shares memory with input 0 (Read: with the variable)
  bool crosses;           ///< communication between places
};

const OpInfo& op_info(Op op);
std::span<const OpInfo> all_ops();
inline std::string_view to_string(Op op) { return op_info(op).name; }
/// Whether it averages variables of replicas with one another.
inline bool is_average(Op op) { return op == Op::Average || op == Op::AverageWith; }
/// The op whose gradient a backward op computes; any other op itself.
Op forward_of(Op op);

}  // namespace regatta
