// SPDX-License-Identifier: Apache-2.0
//
// Every gradient rule, by the reference kernels, against central differences on random shapes:
//   d loss / d x  ~  (loss(x + h) - loss(x - h)) / 2h.
//
// Tolerances: the loss and the values on the way to it are stored as f32, so each loss is off by a
// few roundings of 2^-24 of its size, and the quotient by a few 2^-24 loss / h. kRoundings = 8 of
// them are allowed, 2e-4 for a loss of 2 and h = 5e-3. Truncating the Taylor series costs h² / 6
// times the third derivative, 4e-6 of it; third derivatives here are up to some hundred times the
// gradients in the worst case (normalize with four values a group), so 0.5 % of the tensor's
// largest gradient is allowed. A wrong term is off by far more, because the test also requires the
// largest gradient to exceed the rounding tenfold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/graph/gradient.h"
#include "kernels/reference/bf16.h"
#include "kernels/reference/test_support.h"

namespace regatta::reference {
namespace {

using test::Dims;

constexpr double kStep = 5e-3;
constexpr double kRoundings = 8;
constexpr double kRelative = 5e-3;
constexpr unsigned kTrials = 40;

/// A graph that ends in a loss, its leaves' contents, and the leaves to differentiate for.
class Problem {
 public:
  explicit Problem(unsigned seed) : random_(seed) {}

  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  /// A leaf with elements uniform in [-1, 1] for which the test differentiates.
  Value leaf(const std::string& name, const Dims& dims) {
    checked_.push_back(unchecked(name, dims));
    return checked_.back();
  }
  /// A leaf of elements more than h away from zero, where relu has a kink.
  Value leaf_off_zero(const std::string& name, const Dims& dims) {
    const Value value = leaf(name, dims);
    for (float& x : initial_[name]) x += std::copysign(0.05F, x);
    return value;
  }
  /// A leaf of elements that differ by more than 2h, so that no maximum moves to another element.
  Value leaf_without_ties(const std::string& name, const Dims& dims) {
    const Value value = leaf(name, dims);
    std::vector<float>& x = initial_[name];
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.03F * static_cast<float>(i) - 1;
    std::shuffle(x.begin(), x.end(), random_);
    return value;
  }
  /// `dims`: of one example's labels.
  Value random_labels(std::int64_t batch, std::int64_t classes, const Dims& dims = {}) {
    labels_ = test::labels(builder_, batch, dims);
    for (std::int64_t b = 0; b < graph_.type(labels_).elements(); ++b) {
      label_values_.push_back(static_cast<std::int32_t>(integer(0, classes - 1)));
    }
    return labels_;
  }

  /// Builds the graph, which ends with the mean squared error of the value, viewed as [B, ...], to
  /// a random target, unless the value is a loss itself.
  void build(Value (*value_of)(Problem&, Builder&)) {
    Value y = loss_ = value_of(*this, builder_);
    if (graph_.node(y.node).op == Op::SoftmaxCrossEntropy) return;
    const TensorType& type = graph_.type(y);
    const std::int64_t batch = type.dim(0), outputs = type.elements() / type.dim(0);
    if (type.rank() != 2) y = builder_.reshape(y, {outputs});
    loss_ = builder_.mean_squared_error(y, unchecked("target", {batch, outputs}), batch);
  }

  const Graph& graph() const { return graph_; }

  void expect_gradients_agree() {
    const std::vector<Value> gradients = gradient(graph_, loss_, checked_);
    Interpreter interpreter(graph_, 0, initial_);
    if (labels_.exists()) interpreter.set(labels_, label_values_);
    interpreter.run_all({});
    for (std::size_t i = 0; i < checked_.size(); ++i) {
      SCOPED_TRACE(graph_.variable(variable_of(checked_[i])).name);
      const std::vector<float> analytic = test::elements(interpreter, gradients[i]);
      expect_agree(analytic, central_differences(interpreter, checked_[i]),
                   interpreter.value(loss_)[0]);
    }
  }

 private:
  Value unchecked(const std::string& name, const Dims& dims) {
    const Value value = test::leaf(builder_, name, dims);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> elements(static_cast<std::size_t>(graph_.type(value).elements()));
    for (float& x : elements) x = uniform(random_);
    initial_[name] = elements;
    return value;
  }

  VariableId variable_of(Value leaf) const { return graph_.node(leaf.node).variables[0]; }

  double loss_with(Interpreter& interpreter, float& element, double change) const {
    const float before = element;
    element = static_cast<float>(before + change);
    for (NodeId id = 0; id <= loss_.node; ++id) interpreter.run_node(id, {});
    element = before;
    return *interpreter.value(loss_);
  }

  std::vector<double> central_differences(Interpreter& interpreter, Value leaf) const {
    std::vector<double> differences;
    float* x = interpreter.variable(variable_of(leaf));
    for (std::int64_t i = 0; i < graph_.type(leaf).elements(); ++i) {
      const double above = loss_with(interpreter, x[i], kStep);
      const double below = loss_with(interpreter, x[i], -kStep);
      differences.push_back((above - below) / (2 * kStep));
    }
    return differences;
  }

  static void expect_agree(const std::vector<float>& analytic, const std::vector<double>& numeric,
                           double loss) {
    ASSERT_EQ(analytic.size(), numeric.size());
    double largest = 0;
    for (double x : numeric) largest = std::max(largest, std::abs(x));
    const double rounding = kRoundings * 0x1p-24 * loss / kStep;
    EXPECT_GT(largest, 10 * rounding) << "the gradient drowns in rounding: nothing is tested";
    for (std::size_t i = 0; i < numeric.size(); ++i) {
      EXPECT_NEAR(analytic[i], numeric[i], rounding + kRelative * largest) << "element " << i;
    }
  }

  std::mt19937 random_;
  Graph graph_;
  Builder builder_{graph_};
  InitialValues initial_;
  std::vector<Value> checked_;
  Value labels_;
  std::vector<std::int32_t> label_values_;
  Value loss_;
};

Dims random_image(Problem& p) {
  return {p.integer(1, 3), p.integer(3, 6), p.integer(3, 6), p.integer(1, 3)};
}

/// A random window that always covers a pixel of the image.
Window window_on_pixels(Problem& p) {
  const std::int64_t kernel = p.integer(1, 3);
  return {.kernel = kernel, .stride = p.integer(1, 3), .padding = p.integer(0, kernel - 1)};
}

Value normalize_rows(Problem& p, Builder& b, LayerNormalization::Center center) {
  const Value x = p.leaf("x", {p.integer(1, 3), p.integer(1, 3), p.integer(4, 9)});
  const Value gain = p.leaf("gain", {b.graph().type(x).columns()});
  return b.layer_normalize(x, gain, {.center = center, .epsilon = 0.01});
}

/// A problem for each rule, by name.
const std::map<std::string, Value (*)(Problem&, Builder&)> kCases = {
    // The input has rows or sequences of rows.
    {"dense",
     [](Problem& p, Builder& b) {
       Dims dims{p.integer(1, 5), p.integer(1, 7)};
       if (p.integer(0, 1) == 1) dims.insert(dims.begin(), p.integer(1, 3));
       const Value x = p.leaf("x", dims);
       return b.dense(x, p.leaf("weights", {p.integer(1, 7), dims.back()}));
     }},
    // Weights [P, O, I].
    {"dense_of_matrices",
     [](Problem& p, Builder& b) {
       const std::int64_t inputs = p.integer(1, 7);
       const Value x = p.leaf("x", {p.integer(1, 5), inputs});
       return b.dense(x, p.leaf("weights", {p.integer(1, 3), p.integer(1, 4), inputs}));
     }},
    {"bias",
     [](Problem& p, Builder& b) {
       const Dims dims =
           p.integer(0, 1) == 0 ? Dims{p.integer(1, 5), p.integer(1, 5)} : random_image(p);
       const Value x = p.leaf("x", dims);
       return b.bias(x, p.leaf("bias", {dims.back()}));
     }},
    {"tanh",
     [](Problem& p, Builder& b) {
       return b.tanh(p.leaf("x", {3, p.integer(1, 9)}));
     }},
    {"relu",
     [](Problem& p, Builder& b) {
       return b.relu(p.leaf_off_zero("x", {3, p.integer(4, 9)}));
     }},
    {"gelu",
     [](Problem& p, Builder& b) {
       return b.gelu(p.leaf("x", {3, p.integer(1, 9)}));
     }},
    {"swiglu",
     [](Problem& p, Builder& b) {
       return b.swiglu(p.leaf("x", {3, 2 * p.integer(1, 5)}));
     }},
    // Adds positions to rows of a table in which some tokens occur often and others never.
    {"embed",
     [](Problem& p, Builder& b) {
       const std::int64_t length = p.integer(1, 5), columns = p.integer(1, 4);
       const Value table = p.leaf("table", {p.integer(4, 6), columns});
       const Value y = b.embed(p.random_labels(p.integer(1, 3), 4, {length}), table);
       return b.positions(y, p.leaf("rows", {length, columns}));
     }},
    {"layer_normalize",
     [](Problem& p, Builder& b) { return normalize_rows(p, b, LayerNormalization::Center::Mean); }},
    {"rms_normalize",
     [](Problem& p, Builder& b) { return normalize_rows(p, b, LayerNormalization::Center::None); }},
    {"rotary",
     [](Problem& p, Builder& b) {
       const std::int64_t heads = p.integer(1, 3), columns = 6 * heads * p.integer(1, 3);
       return b.rotary(p.leaf("x", {p.integer(1, 2), p.integer(1, 5), columns}), heads, 20);
     }},
    {"attention",
     [](Problem& p, Builder& b) {
       const std::int64_t heads = p.integer(1, 3), columns = 3 * heads * p.integer(1, 4);
       return b.attention(p.leaf("x", {p.integer(1, 2), p.integer(1, 5), columns}), heads);
     }},
    {"convolution",
     [](Problem& p, Builder& b) {
       const Dims image = random_image(p);
       const Window window{
           .kernel = p.integer(1, 3), .stride = p.integer(1, 3), .padding = p.integer(0, 2)};
       const Value weights =
           p.leaf("weights", {p.integer(1, 3), window.kernel, window.kernel, image.back()});
       return b.convolution(p.leaf("x", image), weights, window);
     }},
    // One to three groups of one or two inputs and outputs each; with one of each it is depthwise.
    {"grouped_convolution",
     [](Problem& p, Builder& b) {
       Dims image = random_image(p);
       const std::int64_t groups = p.integer(1, 3), group_inputs = p.integer(1, 2);
       image.back() = groups * group_inputs;
       const Window window = window_on_pixels(p);
       const Value weights = p.leaf(
           "weights", {groups * p.integer(1, 2), window.kernel, window.kernel, group_inputs});
       return b.convolution(p.leaf("x", image), weights, window, groups);
     }},
    {"max_pool",
     [](Problem& p, Builder& b) {
       return b.max_pool(p.leaf_without_ties("x", random_image(p)), window_on_pixels(p));
     }},
    {"average_pool",
     [](Problem& p, Builder& b) {
       return b.average_pool(p.leaf("x", random_image(p)), window_on_pixels(p));
     }},
    {"normalize",
     [](Problem& p, Builder& b) {
       const std::int64_t group = p.integer(1, 3), channels = p.integer(1, 3);
       const std::int64_t batch = group * p.integer(1, 3);
       const Value x = p.leaf("x", {batch, p.integer(2, 3), p.integer(2, 3), channels});
       const Value scale = p.leaf("scale", {channels}), shift = p.leaf("shift", {channels});
       const VariableId mean = test::add_variable(b.graph(), "mean", {channels});
       const VariableId variance = test::add_variable(b.graph(), "variance", {channels});
       return b.normalize(x, scale, shift, mean, variance, {.group = group});
     }},
    // Uses a value three times, so that its gradients must be summed.
    {"add",
     [](Problem& p, Builder& b) {
       const Value x = p.leaf("x", {p.integer(1, 4), p.integer(1, 4)});
       return b.add(b.add(b.tanh(x), x), x);
     }},
    {"scale",
     [](Problem& p, Builder& b) {
       return b.scale(p.leaf("x", {3, p.integer(1, 4)}), -1.5);
     }},
    {"reshape",
     [](Problem& p, Builder& b) {
       const std::int64_t half = p.integer(1, 3);
       const Value y = b.reshape(p.leaf("x", {3, 2 * half}), {half, 1, 2});
       return b.bias(y, p.leaf("bias", {2}));
     }},
    // The input has rows or sequences of one to four rows.
    {"softmax_cross_entropy",
     [](Problem& p, Builder& b) {
       const std::int64_t batch = p.integer(1, 5), classes = p.integer(2, 6);
       const Dims of_one = p.integer(0, 1) == 1 ? Dims{p.integer(1, 4)} : Dims{};
       Dims dims{batch, classes};
       dims.insert(dims.begin() + 1, of_one.begin(), of_one.end());
       const Value logits = p.leaf("logits", dims);
       const double smoothing = 0.1 * static_cast<double>(p.integer(0, 3));
       return b.softmax_cross_entropy(logits, p.random_labels(batch, classes, of_one),
                                      {.label_smoothing = smoothing, .divisor = p.integer(1, 5)});
     }},
    {"mean_squared_error",
     [](Problem& p, Builder&) {
       return p.leaf("prediction", {p.integer(1, 5), p.integer(1, 5)});
     }},
};

class GradientRule : public testing::TestWithParam<decltype(kCases)::value_type> {};

TEST_P(GradientRule, AgreesWithCentralDifferences) {
  for (unsigned trial = 0; trial < kTrials; ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    Problem problem(trial);
    problem.build(GetParam().second);
    problem.expect_gradients_agree();
  }
}

INSTANTIATE_TEST_SUITE_P(Of, GradientRule, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.first; });

// Rounding has no useful derivative: the rule passes the gradient through unchanged, in the element
// type of the input.
TEST(GradientOfCast, PassesStraightThroughAndIsRoundedToBf16) {
  Graph graph;
  Builder builder(graph);
  const Value x = test::leaf(builder, "x", {1, 2});
  const Value target = test::leaf(builder, "target", {1, 2});
  const Value rounded = builder.cast(builder.cast(x, ElementType::BF16), ElementType::F32);
  const Value loss = builder.mean_squared_error(rounded, target, 1);
  const Value dx = gradient(graph, loss, std::vector{x})[0];

  Interpreter interpreter(graph, 0, {{"x", {1, 2}}, {"target", {0.3F, 0.7F}}});
  interpreter.run_all({});
  // d = 2 (x - target) / 2, rounded to bf16.
  EXPECT_EQ(interpreter.value(dx)[0], reference::from_bf16(reference::to_bf16(1 - 0.3F)));
  EXPECT_EQ(interpreter.value(dx)[1], reference::from_bf16(reference::to_bf16(2 - 0.7F)));
  EXPECT_NE(interpreter.value(dx)[0], 1 - 0.3F);
}

TEST(GradientRules, AreAllTestedHere) {
  std::set<Op> tested{Op::Cast};
  for (const auto& [name, build] : kCases) {
    Problem problem(0);
    problem.build(build);
    for (const Node& node : problem.graph().nodes()) tested.insert(node.op);
  }
  for (const OpInfo& info : all_ops()) {
    EXPECT_TRUE(info.gradient == nullptr || tested.contains(info.op)) << info.name;
  }
}

}  // namespace
}  // namespace regatta::reference
