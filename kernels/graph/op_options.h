// SPDX-License-Identifier: Apache-2.0
//
// Structs that the builder's functions take or return: options of ops, positions in collectives,
// and the outputs of ops with several.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/graph/graph.h"

namespace regatta {

/// A convolution window. Units: pixels.
struct Window {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

/// Batch normalisation over groups of `group` examples, with running statistics: running = (1 -
/// momentum) * running + momentum * mean over the groups. The variance is unbiased.
struct Normalization {
  std::int64_t group = 0;
  double epsilon = 1e-5;
  double momentum = 0.1;
};

/// Softmax cross entropy: the sum of the examples' losses, divided by `divisor`, which is the
/// number of examples in the global batch.
struct CrossEntropy {
  double label_smoothing = 0;
  std::int64_t divisor = 1;
};

/// Normalisation of each row of the last dimension: y = gain (x - mean) / sqrt(mean of (x - mean)²
/// + epsilon), or with mean 0. Source: Ba et al., arXiv:1607.06450; Zhang and Sennrich,
/// arXiv:1910.07467.
struct LayerNormalization {
  enum class Center : std::uint8_t {
    Mean,  ///< LayerNorm
    None   ///< RMSNorm
  };
  Center center = Center::Mean;
  double epsilon = 1e-5;
};

/// Augmentation of images. Each random choice is a function of (seed, epoch, example).
struct Augmentation {
  enum class Flip : std::uint8_t { None, Random, Alternating };
  enum class Border : std::uint8_t { Reflected, Black };
  /// Width of the border that is added before a random crop to the original size.
  std::int64_t pad = 0;
  Border border = Border::Reflected;
  Flip flip = Flip::None;
  std::int64_t cutout = 0;   ///< side of a random square whose pixels are set to the mean; 0: none
  std::vector<double> mean;  ///< mean of each channel, in units of a byte (0 to 255)
  std::vector<double> deviation;
};

/// The order in which an input node takes examples. Shuffled: a new order each epoch, with
/// augmentation. Sequential: the order of the data set, for evaluation.
enum class ExampleOrder : std::uint8_t { Shuffled, Sequential };

/// The examples that an input node yields at step k: [offset, offset + batch) of global batch k.
struct InputSlice {
  std::int64_t batch = 0;
  std::int64_t offset = 0;
  std::int64_t global_batch = 0;
  ExampleOrder order = ExampleOrder::Shuffled;
  ElementType element = ElementType::F32;  ///< element type of the images: f32 or bf16
};

/// A piecewise linear function of the number of examples seen before a step, such as a learning
/// rate. Before the first point and after the last, it has that point's value. Units: examples.
struct Schedule {
  std::vector<double> examples;
  std::vector<double> values;
  static Schedule constant(double value) { return {{0}, {value}}; }
};

/// Stochastic gradient descent: v = momentum * v + (g + weight_decay * w); w -= rate * (nesterov ?
/// g + wd * w + momentum * v : v). Source: PyTorch's torch.optim.SGD. `weight` is the fraction of
/// the global batch that the gradient covers. It multiplies the weight decay, so that an
/// asynchronous push of m examples decays weights by m / global batch of a full step.
struct SgdOptions {
  Schedule rate;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double weight = 1;
};

/// Adam; with weight decay AdamW, which first multiplies w by 1 - rate * weight_decay. Source:
/// Kingma and Ba, arXiv:1412.6980, algorithm 1; Loshchilov and Hutter, arXiv:1711.05101. `weight`
/// is the fraction of the global batch that the gradient covers. Adam's update does not depend on
/// the gradient's scale, so the weight multiplies the rate: an asynchronous push of m examples
/// counts as m / global batch of a step.
struct AdamOptions {
  Schedule rate;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double weight = 1;
};

/// Muon: m = momentum m + (1 - momentum) g; d = (1 - momentum) g + momentum m; w *= 1 - weight *
/// rate * weight_decay, or, if normalized, sqrt(O) / |w|; w -= weight * rate * scale * o, where o
/// is d with its singular values brought near 1: from X = d / |d|, some times A = X Xᵀ (or Xᵀ X, if
/// that is smaller), X = (3.4445 I - 4.775 A + 2.0315 A²) X. Matrices are [O, I] or [P, O, I], and
/// weights of convolutions are [O, K K I]. Source: K. Jordan, "Muon", 2024; the default scale, 0.2
/// sqrt(max(O, I)), with which rate and decay suit AdamW, too: Liu et al., arXiv:2502.16982.
struct MuonOptions {
  static constexpr std::array kPolynomial = {3.4445, -4.7750, 2.0315};

  Schedule rate;
  double momentum = 0.95;
  double weight_decay = 0;
  bool normalized = false;
  std::int64_t iterations = 5;
  std::optional<double> scale = {};
  double weight = 1;
  ElementType element = ElementType::F32;  ///< of X and A: f32 or bf16
};

using Optimizer = std::variant<SgdOptions, AdamOptions, MuonOptions>;

/// Lookahead. Every `period` steps: slow += (1 - d) * (w - slow); w = slow, with d = decay(examples
/// seen, including this step's). When `total_examples` have been seen, whether or not a period
/// ends: w = slow. Source: airbench94, K. Jordan; the idea: arXiv:1907.08610.
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

/// The position of one node in a collective, and the collective's algorithm.
struct AllReduceMember {
  std::int64_t group = 0;   ///< number that identifies the collective
  std::int64_t member = 0;  ///< this node's index, 0 to members - 1
  std::int64_t members = 1;
  std::string algorithm;       ///< `ring`, `reduce_to_one`, `torus_3x2`, ...
  std::int64_t round = 0;      ///< collectives with the same round do not depend on each other
  std::string_view mark = {};  ///< attribute that a later rewrite looks for; empty: none
  Alike alike = {};            ///< the members for which this node stands (collective.h)
};

/// The position of one worker in a quorum.
struct QuorumSeat {
  std::int64_t needed = 1;  ///< number of pushes that complete a step
  std::int64_t member = 0;  ///< this worker's index, 0 to members - 1
  std::int64_t members = 1;
  std::int64_t examples = 1;  ///< number of examples in this worker's share of a batch
};

/// The tokens of a block of attention, as numbers of the sequence's chunks, all of equal length.
struct AttentionBlock {
  std::int64_t heads = 1;
  std::vector<std::int64_t> queries;  ///< ascending
  std::vector<std::int64_t> keys;     ///< ascending
};

struct AttentionValues {
  Value y;  ///< default: no block yet
  Value l;  ///< logarithm of the sum of exp(score)
};

struct AttentionGradients {
  Value dq;
  Value dkv;
};

struct TopKValues {
  Value selected;  ///< values, then indices
  Value rest;      ///< x, with zeros in place of the selected values
};

struct QuantizedValues {
  Value packed;
  Value rest;  ///< x minus the packed values
};

struct QuorumValues {
  /// `sums[i]` is the mean of gradient i over the examples of the pushes that count.
  std::vector<Value> sums;
  Value verdict;  ///< f32 [1]: 1 if this worker's push counts, else 0
};

}  // namespace regatta
