// SPDX-License-Identifier: Apache-2.0
//
// Appends nodes to a graph, with one typed function for each op. Attributes of ops are written only
// by the builder's functions and by ops/. The builder keeps the settings of the nodes it appends:
// place, layer, phase, period.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/graph/op_options.h"
#include "kernels/graph/period.h"

namespace regatta {

/// Returns the learning rate schedule of a trainable's updates, for strategies that add update
/// steps with the same schedule. Aborts if no update has a schedule.
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
  /// Sets the steps in which the next nodes take part. Inputs of a node must come from nodes that
  /// take part in every step or have the same period (verify.h); between different periods, pass
  /// values through a variable.
  Builder& only(const Period& period) {
    period_ = period;
    return *this;
  }
  Builder& layer(std::string name) {
    layer_ = std::move(name);
    return *this;
  }
  Graph& graph() { return graph_; }

  /// Whether the gradient of input `index` is needed. Called only by gradient rules, while
  /// gradient() (gradient.h) runs.
  bool wants(std::size_t index) const { return wanted_.at(index); }
  void want(std::vector<bool> wanted) { wanted_ = std::move(wanted); }

  /// Returns the inputs and targets of the slice's examples, with the types of one example.
  /// Shapes: [batch, example...] and [batch, target...].
  std::vector<Value> input(const InputSlice& slice, const TensorType& example,
                           const TensorType& target);
  /// Returns images, augmented and normalised, and labels. `example`: u8 [H, W, C].
  /// Shapes: [batch, H, W, C] f32 and [batch] i32.
  std::vector<Value> input_images(const InputSlice& slice, const TensorType& example,
                                  const Augmentation& augmentation);
  /// Returns features and targets. Shapes: [batch, features] and [batch, targets] f32.
  std::vector<Value> input_features(const InputSlice& slice, std::int64_t features,
                                    std::int64_t targets) {
    return input(slice, {ElementType::F32, {features}}, {ElementType::F32, {targets}});
  }
  /// Returns the variable's value: a view, or a copy if the variable is shared. A node that uses
  /// the view after an assignment to the variable reads the new value.
  Value read(VariableId variable);

  /// y = x wᵀ. Shapes: x [..., I], w [O, I], y [..., O]; or w [P, O, I], y [..., P O].
  Value dense(Value x, Value weights);
  /// y = x + b along the last dimension. Shapes: x [..., C], b [C].
  Value bias(Value x, Value b);
  Value tanh(Value x);
  Value relu(Value x);
  Value gelu(Value x);  ///< exact GELU: x Φ(x)
  /// y = a / (1 + exp(-a)) * b, where a is the first half of each row of x and b the second.
  /// Shapes: x [..., 2 C], y [..., C]. Source: Shazeer, arXiv:2002.05202.
  Value swiglu(Value x);
  /// Returns the rows of the table with the tokens' numbers. Shapes: tokens [...] i32, table [V,
  /// C], y [..., C].
  Value embed(Value tokens, Value table);
  /// Adds row t of `rows` to token t of each sequence. Shapes: x [B, S, C], rows [S, C] f32.
  Value positions(Value x, Value rows);
  /// Normalises each row. Shapes: x [..., C], gain [C] f32.
  Value layer_normalize(Value x, Value gain, const LayerNormalization& options);
  /// Rotates each pair (i, i + D / 2) of a head's D channels of queries and keys by the angle
  /// t * base^(-2 i / D) at token t. Shapes: x [B, S, 3 C]: queries, keys and values. Source: Su et
  /// al., arXiv:2104.09864, with Llama's pairs.
  Value rotary(Value x, std::int64_t heads, double base = 10000);
  /// Causal attention: y = softmax(q kᵀ / sqrt(D)) v in each head of D = C / heads channels, where
  /// a token sees itself and those before it. Shapes: x [B, S, 3 C]: queries, keys and values, in
  /// each of which a head's channels are consecutive; y [B, S, C]. Source: Vaswani et al.,
  /// arXiv:1706.03762.
  Value attention(Value x, std::int64_t heads);
  /// Attention of the queries in x over one block of keys and values, added to that over earlier
  /// blocks, unless it is the first: that of the queries' own tokens. Shapes: x [B, S, 3 C], kv [B,
  /// K, 2 C], y [B, S, C] f32, l [B, heads, S] f32.
  AttentionValues attend(Value x, Value kv, const AttentionValues& earlier,
                         const AttentionBlock& block);
  /// Returns the block's terms of the gradients. `sum`: y in x's type, and l, over all blocks.
  /// Shapes: dy [B, S, C], dq [B, S, C] f32, dkv [B, K, 2 C] f32.
  AttentionGradients attend_backward(Value dy, Value x, Value kv, const AttentionValues& sum,
                                     const AttentionBlock& block);
  /// Convolves x with the weights. Each output channel reads only the input channels of its group;
  /// with one group per channel, the convolution is depthwise. Shapes: x [B, H, W, I], w [O, K, K,
  /// I / groups], y [B, H', W', O].
  Value convolution(Value x, Value weights, const Window& window, std::int64_t groups = 1);
  Value max_pool(Value x, const Window& window);
  Value average_pool(Value x, const Window& window);
  /// Normalises each channel of x over groups of examples. Shapes: x [B, H, W, C]; scale, shift,
  /// running_mean, running_variance [C].
  Value normalize(Value x, Value scale, Value shift, VariableId running_mean,
                  VariableId running_variance, const Normalization& options);
  Value normalize_inference(Value x, Value scale, Value shift, Value mean, Value variance,
                            double epsilon);
  Value add(Value a, Value b);
  Value scale(Value x, double factor);
  /// Returns a view of x with new dimensions for each example. `dims` does not include dimension 0,
  /// the batch, which stays.
  Value reshape(Value x, std::vector<std::int64_t> dims);
  /// Returns a view of x with the dimensions `dims`, all of them.
  Value view(Value x, std::vector<std::int64_t> dims);
  /// Returns a view of x with one dimension.
  Value flatten(Value x);
  /// Returns rows [offset, offset + count) of the slowest dimension.
  Value slice(Value x, std::int64_t offset, std::int64_t count);
  /// Concatenates the values along the slowest dimension. This op has no gradient.
  Value concatenate(std::vector<Value> values);
  /// Returns the ranges [begin, begin + length) of a dimension, one after the other. This op has no
  /// gradient.
  Value take(Value x, std::int64_t axis, std::vector<std::int64_t> begins, std::int64_t length);
  /// Returns a tensor with `extent` entries in a dimension: the values' entries as ranges from
  /// `begins` on, equally many of each value, and zeros elsewhere. This op has no gradient.
  Value put(std::vector<Value> values, std::int64_t axis, std::vector<std::int64_t> begins,
            std::int64_t extent);
  Value cast(Value x, ElementType element);
  /// Shifts and mirrors the images of x. Shapes: x [B, H, W, C].
  Value translate(Value x, const Translation& translation);
  /// Returns the loss, a scalar: the sum over labels, divided by `divisor`. Shapes: logits [...,
  /// K], labels [...] i32.
  Value softmax_cross_entropy(Value logits, Value labels, const CrossEntropy& options);
  /// Returns the loss, a scalar: the mean over outputs of (p - t)², summed over rows and divided by
  /// `divisor`. Shapes: [..., O].
  Value mean_squared_error(Value prediction, Value target, std::int64_t divisor);
  /// Returns the number of rows whose largest logit is at the row's label, as a scalar in f32.
  /// Shapes: logits [..., K], labels [...] i32.
  Value count_correct(Value logits, Value labels);

  Value sum(std::vector<Value> values, double factor = 1);
  /// Makes the columns of x orthonormal, from left to right: subtracts from each column its
  /// projections on the columns to its left, then scales it to length one. A column that keeps less
  /// than a millionth of its length becomes zero. Shapes: x [A, R] f32. Source: modified
  /// Gram-Schmidt.
  Value orthogonalize(Value x);
  /// Returns x / divisor. This op has no gradient. Shapes: x [...] f32, divisor [1] f32.
  Value quotient(Value x, Value divisor);
  /// Returns the sum of the squares of all elements of all values. Shapes: values [...] f32, y [1].
  Value squared_norm(std::vector<Value> values);
  /// Returns max(1, (sqrt(squared_norm) + 1e-6) / limit), by which gradients are divided. Shapes:
  /// [1] f32. Source: PyTorch, torch.nn.utils.clip_grad_norm_.
  Value clip_divisor(Value squared_norm, double limit);
  /// Selects the `count` elements of x with the largest magnitude (ops/selection.cpp). Shapes:
  /// selected [2 count].
  TopKValues top_k(Value x, std::int64_t count);
  /// Returns a tensor of shape `dims`: zeros, to which the elements that several top_k have
  /// selected are added, part by part. Shapes: selected [parts * 2 count].
  Value scatter_add(Value selected, std::int64_t count, std::vector<std::int64_t> dims);
  /// Packs x as integers of `bits` bits, in `parts` parts of equal size (quantization.h). Shapes:
  /// packed [parts * words of a part] f32.
  QuantizedValues quantize(Value x, std::int64_t bits, std::int64_t parts);
  /// Returns the sum, in this order, of tensors of shape `dims` that quantize has packed.
  Value dequantize(std::vector<Value> packed, std::int64_t bits, std::int64_t parts,
                   std::vector<std::int64_t> dims);
  /// Appends one member's node of an all_reduce. The result is the sum of `value` over all members.
  /// Members must be at different places and have the same group and algorithm.
  Value all_reduce(Value value, const AllReduceMember& member);

  /// Appends a node that waits until all gradients of one worker have reached a server. Its value
  /// is 1, or 0 if the worker is lost. Shapes: [1] f32.
  Value arrival(std::vector<Value> gradients);
  /// Appends one worker's push to the server that decides whether the push counts. `arrivals` are
  /// the results of arrival() at the other servers.
  QuorumValues quorum(const std::vector<Value>& gradients, const QuorumSeat& seat,
                      const std::vector<Value>& arrivals);
  /// Appends one worker's push to a server that receives the verdict from the deciding server.
  QuorumValues follow_quorum(const std::vector<Value>& gradients, const QuorumSeat& seat,
                             Value verdict);

  NodeId sgd(Value gradient, VariableId parameter, VariableId velocity, const SgdOptions& options);
  NodeId adam(Value gradient, VariableId parameter, VariableId first, VariableId second,
              const AdamOptions& options);
  /// Updates one matrix or several. Shapes: parameter [O, I] or [P, O, I]: P matrices.
  NodeId muon(Value gradient, VariableId parameter, VariableId momentum,
              const MuonOptions& options);
  NodeId assign(Value value, VariableId variable);
  /// Appends a node that draws one of `others` in each step (draw_peer() in random.h) and assigns
  /// the mean of that variable and `own` to both. `others` is the same variable in each other
  /// replica, in order; `replica` is the replica with the variable `own`.
  NodeId average(VariableId own, const std::vector<VariableId>& others, std::int64_t replica);
  /// Assigns the mean of `value` and `variable` to `variable` and returns the mean. Shapes: all
  /// equal, f32.
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
