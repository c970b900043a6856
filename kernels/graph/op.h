// SPDX-License-Identifier: Apache-2.0
//
// The ops and their properties. op.cpp has a table with one row per op, which contains everything
// that the graph knows about the op; ops/ has the rules to which the rows refer. The kernel table
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
  Swiglu,
  Embed,      ///< rows of a table, by number
  Positions,  ///< adds the same rows to each sequence
  LayerNormalize,
  Rotary,     ///< rotates queries and keys by their position
  Attention,  ///< causal, with several heads
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
  Take,  ///< ranges of one dimension
  Put,   ///< values as ranges of one dimension, zeros elsewhere
  Cast,
  Translate,
  SoftmaxCrossEntropy,
  SoftmaxPart,          ///< a shard's part of a softmax over divided classes
  CrossEntropyOfParts,  ///< the loss from all shards' parts
  MeanSquaredError,
  CountCorrect,
  // backward
  DenseBackwardData,
  DenseBackwardWeights,
  BiasBackward,
  TanhBackward,
  ReluBackward,
  GeluBackward,
  SwigluBackward,
  EmbedBackward,
  PositionsBackward,
  LayerNormalizeBackward,
  AttentionBackward,
  ConvolutionBackwardData,
  ConvolutionBackwardWeights,
  MaxPoolBackward,
  AveragePoolBackward,
  NormalizeBackward,
  SoftmaxCrossEntropyBackward,
  SoftmaxPartBackward,
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
  SquaredNorm,    ///< sum of the squares of all elements
  ClipDivisor,    ///< divides gradients so that their norm is at most a limit
  TopK,           ///< the elements of largest magnitude, and x without them
  ScatterAdd,     ///< adds the elements that several top_k have selected
  Quantize,       ///< packs x as integers of a few bits; what rounding has left of x
  Dequantize,     ///< adds up tensors that quantize has packed
  // updates
  Sgd,
  Adam,
  Muon,
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
class Graph;
struct Node;
struct Value;

/// Appends the backward nodes of `node`. `gradients[i]` is the gradient of its output i; a default
/// Value stands for zero. Returns a gradient for each input; a default Value means that the input
/// has none.
using GradientRule = std::vector<Value> (*)(Builder& builder, Value node_output0, const Node& node,
                                            std::span<const Value> gradients);

/// Returns the number of multiply-adds of a node.
using WorkRule = std::int64_t (*)(const Graph& graph, const Node& node);

/// The smallest portions into which a tensor can be divided so that each portion of an op's outputs
/// depends only on that portion of its inputs and variables.
enum class Portions : std::uint8_t {
  Whole,     ///< none
  Channels,  ///< the entries of the last dimension; for Reshape, if it keeps that dimension
  Heads,     ///< the channels of each head, as many as the attribute `heads`
  Halves,    ///< each channel of both halves of the last dimension
  Elements,  ///< each element; in collectives, the same element at all members
};

struct OpInfo {
  Op op;
  std::string_view name;
  InferRule infer;
  GradientRule gradient = nullptr;      ///< null: no gradient is propagated through this op
  Op forward = op;                      ///< the forward op of a backward op
  WorkRule multiply_adds = nullptr;     ///< null: none
  Portions portions = Portions::Whole;  ///< for a backward op, those of its forward op
  bool assigns = false;  ///< true: the op assigns its variables; false: it only reads them
  bool learns = false;   ///< whether the op is an optimizer's update, with a schedule of rates
  bool view = false;     ///< whether output 0 shares memory with input 0 (Read: with the variable)
  bool crosses = false;  ///< whether the op communicates between places
};

const OpInfo& op_info(Op op);
std::span<const OpInfo> all_ops();
inline std::string_view to_string(Op op) { return op_info(op).name; }
/// Whether the op averages variables of replicas with one another.
inline bool is_average(Op op) { return op == Op::Average || op == Op::AverageWith; }
/// Returns the forward op of a backward op; for all other ops, returns `op`.
inline Op forward_of(Op op) { return op_info(op).forward; }

}  // namespace regatta
