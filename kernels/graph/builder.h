// SPDX-License-Identifier: Apache-2.0
//
// Appends nodes to a graph through one typed function for each op. Attributes are written only here
// and in ops/. The builder keeps the settings of consecutive nodes: place, layer, phase, period.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/graph/period.h"

namespace regatta {

/// A convolution window. Units: pixels.
struct Window {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

/// Batch normalisation over groups of `group` examples, with running statistics: running = (1 -
/// momentum) * running + momentum * mean over the groups (variance unbiased).
struct Normalization {
  std::int64_t group = 0;
  double epsilon = 1e-5;
  double momentum = 0.1;
};

/// Softmax cross entropy: the sum over examples / `divisor`, which is the global batch.
struct CrossEntropy {
  double label_smoothing = 0;
  std::int64_t divisor = 1;
};

/// Augmentation of images; every choice is a function of (seed, epoch, example).
struct Augmentation {
  enum class Flip : std::uint8_t { None, Random, Alternating };
  enum class Border : std::uint8_t { Reflected, Black };
  std::int64_t pad = 0;  ///< border of pixels before a random crop of the original size
  Border border = Border::Reflected;
  Flip flip = Flip::None;
  std::int64_t cutout = 0;   ///< side of a square set to the mean; 0 is none
  std::vector<double> mean;  ///< mean of each channel, in units of a byte (0 to 255)
  std::vector<double> deviation;
};

/// Shuffled: a new order each epoch, with augmentation. Sequential: the order of the data set, for
/// evaluation.
enum class ExampleOrder : std::uint8_t { Shuffled, Sequential };

/// The examples that an input node yields at step k: [offset, offset + batch) of global batch k.
struct InputSlice {
  std::int64_t batch = 0;
  std::int64_t offset = 0;
  std::int64_t global_batch = 0;
  ExampleOrder order = ExampleOrder::Shuffled;
  ElementType element = ElementType::F32;  ///< of the images: f32 or bf16
};

/// A piecewise linear function of the examples seen before a step, constant outside its points;
/// used for learning rates. Units: examples.
struct Schedule {
  std::vector<double> examples;
  std::vector<double> values;
  static Schedule constant(double value) { return {{0}, {value}}; }
};

/// Stochastic gradient descent: v = momentum * v + (g + weight_decay * w); w -= rate * (nesterov ?
/// g + wd * w + momentum * v : v). Source: PyTorch's torch.optim.SGD. `weight`: the fraction of the
/// global batch that the gradient covers. It multiplies the decay, so that an asynchronous push of
/// m examples counts m / global batch.
struct SgdOptions {
  Schedule rate;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double weight = 1;
};

/// Adam. Source: Kingma and Ba, arXiv:1412.6980, algorithm 1. `weight`: the fraction of the global
/// batch that the gradient covers. Adam divides the gradient's size away, so the weight multiplies
/// the rate: an asynchronous push of m examples counts m / global batch.
struct AdamOptions {
  Schedule rate;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight = 1;
};

/// How a parameter is updated.
using Optimizer = std::variant<SgdOptions, AdamOptions>;

/// Lookahead. Every `period` steps: slow += (1 - d) * (w - slow); w = slow, with d = decay(examples
/// seen, including this step's). After the last of `total_examples`, due or not: w = slow. Source:
/// airbench94, K. Jordan; the idea: arXiv:1907.08610.
struct LookaheadOptions {
  std::int64_t period = 5;
  std::int64_t global_batch = 1;
  std::int64_t total_examples = std::numeric_limits<std::int64_t>::max();
  Schedule decay;
};

/// Shifts an image, then mirrors it if requested: pixel (row, column) of the shifted image is pixel
/// (row + rows, column + columns) of the input, reflected at its border. Units: pixels.
struct Translation {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  enum class Mirror : std::uint8_t { No, Yes } mirror = Mirror::No;
};

/// One member's part in a collective.
struct AllReduceMember {
  std::int64_t group = 0;   ///< names the collective
  std::int64_t member = 0;  ///< this node's index, 0 to members - 1
  std::int64_t members = 1;
  std::string algorithm;     ///< `ring`, `reduce_to_one`, `hierarchical_copy`, ...
  std::int64_t columns = 0;  ///< of a torus; 0: as near to a square as the number of members allows
  std::int64_t round = 0;    ///< collectives of one round do not depend on one another
};

/// A worker's part in a quorum.
struct QuorumSeat {
  std::int64_t needed = 1;  ///< pushes that complete a step
  std::int64_t member = 0;  ///< this worker's index, 0 to members - 1
  std::int64_t members = 1;
  std::int64_t examples = 1;  ///< in this worker's share of a batch
};

/// Outputs of top_k.
struct TopKValues {
  Value selected;  ///< values, then indices
  Value rest;      ///< x, with zeros in place of the selected values
};

/// Outputs of a quorum.
struct QuorumValues {
  std::vector<Value> sums;  ///< one for each gradient: the mean over the examples that counted
  Value verdict;            ///< f32 [1]: 1 when this worker's push counts, else 0
};

/// Returns the rate's schedule of a trainable's updates, for strategies with steps of their own
/// that follow it. Throws: aborts if none of the updates has one.
Schedule learning_rate(const Graph& graph, const Trainable& trainable);

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  // Settings of the nodes that are appended next.
  Builder& at(Place place) {
    place_ = place;
    return *this;
  }
  Builder& in(Phase phase) {
    phase_ = phase;
    return *this;
  }
  /// The steps in which the next nodes take part. Inputs of a node must come from nodes that take
  /// part in every step or have the same period (verify.h); a variable carries values from one
  /// period to another.
  Builder& only(const Period& period) {
    period_ = period;
    return *this;
  }
  Builder& layer(std::string name) {
    layer_ = std::move(name);
    return *this;
  }
  Graph& graph() { return graph_; }

  /// Whether the gradient of the node's input `index` is needed. Valid while gradient() runs a
  /// rule.
  bool wants(std::size_t index) const { return wanted_.at(index); }
  void want(std::vector<bool> wanted) { wanted_ = std::move(wanted); }

  /// Images and labels. Shapes: [batch, H, W, C] and [batch] i32.
  std::vector<Value> input_images(const InputSlice& slice, const TensorType& example,
                                  const Augmentation& augmentation);
  /// Features and targets. Shapes: [batch, features] and [batch, targets] f32.
  std::vector<Value> input_features(const InputSlice& slice, std::int64_t features,
                                    std::int64_t targets);
  /// A view; a copy if the variable is shared. A node that uses the view after the variable was
  /// assigned reads the new value.
  Value read(VariableId variable);

  /// y = x wᵀ. Shapes: x [B, I], w [O, I], y [B, O].
  Value dense(Value x, Value weights);
  /// y = x + b along the last dimension. Shapes: x [..., C], b [C].
  Value bias(Value x, Value b);
  Value tanh(Value x);
  Value relu(Value x);
  Value gelu(Value x);  ///< exact: x Φ(x)
  /// Output channel o reads the input channels of its group only; with one group for each channel
  /// the convolution is depthwise. Shapes: x [B, H, W, I], w [O, K, K, I / groups], y [B, H', W',
  /// O].
  Value convolution(Value x, Value weights, const Window& window, std::int64_t groups = 1);
  Value max_pool(Value x, const Window& window);
  Value average_pool(Value x, const Window& window);
  /// Shapes: x [B, H, W, C]; scale, shift, running_mean, running_variance [C].
  Value normalize(Value x, Value scale, Value shift, VariableId running_mean,
                  VariableId running_variance, const Normalization& options);
  Value normalize_inference(Value x, Value scale, Value shift, Value mean, Value variance,
                            double epsilon);
  Value add(Value a, Value b);
  Value scale(Value x, double factor);
  /// A view with new dimensions for each example; dimension 0, the batch, stays.
  Value reshape(Value x, std::vector<std::int64_t> dims);
  /// A view with one dimension.
  Value flatten(Value x);
  /// Rows [offset, offset + count) of the slowest dimension.
  Value slice(Value x, std::int64_t offset, std::int64_t count);
  /// Joins the values along the slowest dimension. It has no gradient.
  Value concatenate(std::vector<Value> values);
  Value cast(Value x, ElementType element);
  /// Shapes: x [B, H, W, C].
  Value translate(Value x, const Translation& translation);
  /// Loss: a scalar, sum over examples / divisor. Shapes: logits [B, K], labels [B] i32.
  Value softmax_cross_entropy(Value logits, Value labels, const CrossEntropy& options);
  /// Loss: sum over examples of the mean over outputs of (p - t)², / divisor. Shapes: [B, O].
  Value mean_squared_error(Value prediction, Value target, std::int64_t divisor);
  /// The number of examples with the largest logit at their label; a scalar f32.
  Value count_correct(Value logits, Value labels);

  Value sum(std::vector<Value> values, double factor = 1);
  /// Orthonormal columns, from left to right: each column minus its projections on the columns
  /// before it, scaled to length one. A column left with less than a millionth of its length
  /// becomes zero. Shapes: x [A, R] f32. Source: modified Gram-Schmidt.
  Value orthogonalize(Value x);
  /// x / divisor; it has no gradient. Shapes: x [...] f32, divisor [1] f32.
  Value quotient(Value x, Value divisor);
  /// The `count` elements of largest magnitude (ops/selection.cpp). Shapes: selected [2 count].
  TopKValues top_k(Value x, std::int64_t count);
  /// The sums of the elements that several top_k selected, part by part in their order; zero
  /// elsewhere. Shapes: selected [parts * 2 count].
  Value scatter_add(Value selected, std::int64_t count, std::vector<std::int64_t> dims);
  /// One member's node of a collective: each output is the sum of that input over all members.
  /// Members are at different places and name the same group and algorithm.
  Value all_reduce(Value value, const AllReduceMember& member);

  /// 1 when all gradients of one worker have reached a server, 0 if the worker is lost. Shapes: [1]
  /// f32.
  Value arrival(std::vector<Value> gradients);
  /// One worker's push to the server that decides whether it counts. `arrivals`: outputs of
  /// arrival() at the other servers.
  QuorumValues quorum(const std::vector<Value>& gradients, const QuorumSeat& seat,
                      const std::vector<Value>& arrivals);
  /// One worker's push to a server that receives the verdict from the deciding server.
  QuorumValues follow_quorum(const std::vector<Value>& gradients, const QuorumSeat& seat,
                             Value verdict);

  NodeId sgd(Value gradient, VariableId parameter, VariableId velocity, const SgdOptions& options);
  NodeId adam(Value gradient, VariableId parameter, VariableId first, VariableId second,
              const AdamOptions& options);
  /// Assigns the value to the variable.
  NodeId assign(Value value, VariableId variable);
  /// Draws one of `others` in each step (draw_peer() in random.h); it and `own` both become their
  /// mean. `others`: the same variable of the other replicas, in order. `replica`: owner of `own`.
  NodeId average(VariableId own, const std::vector<VariableId>& others, std::int64_t replica);
  /// Assigns the mean of value and variable to the variable and returns it. Shapes: all equal, f32.
  Value average_with(Value value, VariableId variable);
  NodeId lookahead(VariableId parameter, VariableId slow, const LookaheadOptions& options);

  /// Appends a node of any op at the builder's place, layer and phase. Returns its first output.
  Value node(Op op, std::vector<Value> inputs, Attributes attributes = {},
             std::vector<VariableId> variables = {}, std::int64_t member = 0);

 private:
  NodeId append(Node node);

  Graph& graph_;
  Place place_;
  Phase phase_ = Phase::Forward;
  std::string layer_;
  Period period_;
  std::vector<bool> wanted_;
};

}  // namespace regatta
