// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/merge.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "kernels/runtime/occasional.h"

namespace regatta {
namespace {

/// Logs that it runs. Merges with its own kind.
class Noting final : public Kernel {
 public:
  Noting(std::string kind, std::string name, std::vector<std::string>& done)
      : kind_(std::move(kind)), name_(std::move(name)), done_(done) {}
  void run(const StepContext&) override {
    if (!name_.empty()) done_.push_back(name_);
  }
  bool merges_with(const Kernel& other) const override {
    return dynamic_cast<const Noting&>(other).kind_ == kind_;
  }
  void take_over(std::span<Kernel* const> others) override {
    for (Kernel* other : others)
      name_ += '+' + std::exchange(dynamic_cast<Noting&>(*other).name_, "");
  }

 private:
  std::string kind_, name_;
  std::vector<std::string>& done_;
};

/// Nodes that use variables and read values, with their kernels.
class MergeTest : public testing::Test {
 protected:
  void add(const std::string& name, const std::vector<VariableId>& variables,
           std::vector<NodeId> reads = {}, bool writes = false) {
    Node& node = nodes_.emplace_back();
    node.variables.assign(variables.begin(), variables.end());
    for (const NodeId from : reads) node.inputs.push_back({from, 0});
    views_.emplace_back();
    if (writes) node.outputs = {TensorType{ElementType::F32, {1}}};
    kernels_.push_back(std::make_unique<Noting>(name.substr(0, 1), name, done_));
  }
  /// Adds a kernel that makes a value and only reads variables.
  void add_reader(const std::string& name, std::vector<VariableId> views) {
    add(name, {}, {}, true);
    views_.back() = std::move(views);
  }
  /// The order of a step after merging.
  std::string order() {
    std::vector<NodeKernel> all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      all.push_back({.id = static_cast<NodeId>(i),
                     .node = nodes_[i],
                     .kernel = kernels_[i].get(),
                     .views = views_[i],
                     .reads_values = !nodes_[i].inputs.empty()});
    }
    merge_kernels(all);
    for (const auto& kernel : kernels_) kernel->run({});
    std::string text;
    for (const std::string& each : done_) text += (text.empty() ? "" : " ") + each;
    return text;
  }

  std::deque<Node> nodes_;
  std::vector<std::vector<VariableId>> views_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::string> done_;
};

TEST_F(MergeTest, GathersUpdatesOfOneKindPastThoseOfOtherVariables) {
  for (VariableId v = 0; v < 3; ++v) {
    add("s" + std::to_string(v), {v});
    add("l" + std::to_string(v), {v});
  }
  EXPECT_EQ(order(), "s0+s1+s2 l0+l1+l2");
}

TEST_F(MergeTest, LeavesWhatNeedsSomethingBetween) {
  add("s0", {0});
  add("l0", {0, 1});  // uses variable 1, which the next one assigns
  add("s1", {1});
  add("s2", {2});
  EXPECT_EQ(order(), "s0+s2 l0 s1");
}

TEST_F(MergeTest, LeavesTwoUpdatesOfOneVariableApart) {
  add("s0", {0});
  add("s0", {0});
  add("s1", {1});
  EXPECT_EQ(order(), "s0+s1 s0");
}

TEST_F(MergeTest, LeavesWhatReadsAValueMadeBetweenOrMakesOne) {
  add("s0", {0});
  add("m", {}, {}, true);
  add("s1", {1}, {1});
  add("s2", {2}, {}, true);
  add("s3", {3});
  EXPECT_EQ(order(), "s0+s3 m s1 s2");
}

TEST_F(MergeTest, GathersWhatMakesValuesUntilSomethingReadsOne) {
  add_reader("c0", {0});
  add_reader("c1", {1});
  add("m", {}, {0}, true);  // the memory of its input may be free now
  add_reader("c2", {2});
  EXPECT_EQ(order(), "c0+c1 m c2");
}

TEST_F(MergeTest, LeavesWhatReadsAVariableBehindItsAssignment) {
  add_reader("c0", {0});
  add("s1", {1});
  add_reader("c1", {1});
  add_reader("c2", {2});
  EXPECT_EQ(order(), "c0+c2 s1 c1");
}

TEST_F(MergeTest, LeavesAnAssignmentBehindWhatReadsTheVariable) {
  add("s0", {0});
  add_reader("c1", {1});
  add("s1", {1});
  EXPECT_EQ(order(), "s0 c1 s1");
}

TEST_F(MergeTest, MergesOnlyWhatExpiresTogether) {
  constexpr std::int64_t kEnds[] = {10, 20, 10};
  for (VariableId v = 0; v < 3; ++v) {
    add("s" + std::to_string(v), {v});
    kernels_.back() =
        in_its_steps(std::move(kernels_.back()), {.until = kEnds[static_cast<std::size_t>(v)]});
  }
  EXPECT_EQ(order(), "s0+s2 s1");
}

}  // namespace
}  // namespace regatta
