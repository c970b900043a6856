// SPDX-License-Identifier: Apache-2.0
//
// For tests of this folder: leaves of small graphs, and comparison of results.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/graph/builder.h"
#include "kernels/reference/interpreter.h"

namespace regatta::test {

using Dims = std::vector<std::int64_t>;

inline VariableId add_variable(Graph& graph, std::string name, Dims dims,
                               Sharing sharing = Sharing::None) {
  return graph.add(Variable{
      .name = std::move(name), .type = {ElementType::F32, std::move(dims)}, .sharing = sharing});
}

/// The value of a new variable; the test sets its elements.
inline Value leaf(Builder& builder, std::string name, Dims dims) {
  return builder.read(add_variable(builder.graph(), std::move(name), std::move(dims)));
}

/// Labels of `batch` examples, for the test to set. `dims`: of one example's labels.
inline Value labels(Builder& builder, std::int64_t batch, Dims dims = {}) {
  return builder.input({.batch = batch, .offset = 0, .global_batch = batch},
                       {ElementType::F32, {1}}, {ElementType::I32, std::move(dims)})[1];
}

inline std::vector<float> elements(const reference::Interpreter& interpreter, Value value) {
  const Tensor& tensor = interpreter.tensor(value);
  return {tensor.f32(), tensor.f32() + tensor.elements()};
}

/// A graph of leaves whose elements are given with them; the first result asked for runs it.
class Net {
 public:
  Graph graph;
  Builder builder{graph};

  Value leaf(Dims dims, std::vector<float> elements) {
    const std::string name = "leaf" + std::to_string(initial_.size());
    initial_[name] = std::move(elements);
    return test::leaf(builder, name, std::move(dims));
  }
  /// The labels of the only input.
  Value labels(std::vector<std::int32_t> elements) {
    label_elements_ = std::move(elements);
    return labels_ = test::labels(builder, static_cast<std::int64_t>(label_elements_.size()));
  }

  const Tensor& tensor(Value value) {
    if (!interpreter_) {
      interpreter_.emplace(graph, 0, initial_);
      if (labels_.exists()) interpreter_->set(labels_, label_elements_);
      interpreter_->run_all({});
    }
    return interpreter_->tensor(value);
  }
  std::vector<float> elements(Value value) {
    const Tensor& found = tensor(value);
    return {found.f32(), found.f32() + found.elements()};
  }

 private:
  reference::InitialValues initial_;
  Value labels_;
  std::vector<std::int32_t> label_elements_;
  std::optional<reference::Interpreter> interpreter_;
};

inline void expect_near(const std::vector<float>& actual, const std::vector<float>& expected,
                        float tolerance = 1e-6F) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }
}

}  // namespace regatta::test
