// SPDX-License-Identifier: Apache-2.0
//
// Composes every strategy with every other. A rule must refuse the pair before anything starts, or
// it must run: in several processes if both strategies may, with the losses of `single` if both are
// synchronous. If strategies/compositions.md has other tables than these results, the test fails
// and writes the correct file.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/plan/placement.h"
#include "kernels/base/error_for_test.h"
#include "strategies/equivalence_for_test.h"

namespace regatta::plan {
namespace {

using regatta::testing_support::error_of;

constexpr const char* kReadme = "strategies/compositions.md";
constexpr const char* kBegin = "<!-- made by compositions_test -->\n";
constexpr const char* kEnd = "<!-- end -->\n";
constexpr std::int64_t kExamples = 1'000;

/// One strategy after another; each has two workers if it has any.
struct Composition {
  std::vector<const strategies::Strategy*> all;

  std::string name() const {
    std::string text;
    for (const strategies::Strategy* each : all)
      text += (text.empty() ? "" : "+") + std::string(each->name);
    return text;
  }
  bool has(strategies::WorkersAre workers) const { return strategies::any_has(all, workers); }
  std::int64_t replicas() const { return has(strategies::WorkersAre::Replicas) ? 2 : 1; }
  std::int64_t stages() const { return has(strategies::WorkersAre::Stages) ? 2 : 1; }
  std::int64_t shards() const { return has(strategies::WorkersAre::Shards) ? 2 : 1; }
  bool needs_sequences() const {
    return std::any_of(all.begin(), all.end(), [](const strategies::Strategy* each) {
      return each->trains == strategies::Trains::Sequences;
    });
  }
  /// Returns a test case of a few steps.
  testing_support::Case to_case() const {
    return {.workload = needs_sequences() ? "gpt_narrow" : "parabola",
            .strategy = name(),
            .replicas = replicas(),
            .stages = stages(),
            .shards = shards(),
            .global_batch = needs_sequences() ? 12 : 50};
  }
  bool is_synchronous() const {
    return strategies::exchange_of(all) == strategies::Exchange::Synchronous;
  }
};

std::vector<Composition> pairs() {
  std::vector<Composition> all;
  for (const strategies::Strategy* first : strategies::all_strategies()) {
    for (const strategies::Strategy* second : strategies::all_strategies())
      all.push_back({{first, second}});
  }
  return all;
}

/// Replicas of stages of shards, and compressed replicas of shards.
std::vector<Composition> triples() {
  using enum strategies::WorkersAre;
  std::vector<Composition> all;
  for (const Composition& pair : pairs()) {
    const auto second = pair.all[1]->workers;
    if (pair.all[0]->workers != Replicas || (second != Stages && second != ThoseOfPrevious))
      continue;
    for (const strategies::Strategy* third : strategies::all_strategies()) {
      if (third->workers == Shards) all.push_back({{pair.all[0], pair.all[1], third}});
    }
  }
  return all;
}

std::vector<Composition> pairs_and_triples() {
  std::vector<Composition> all = pairs();
  for (Composition& each : triples()) all.push_back(std::move(each));
  return all;
}

RaceRequest request_of(const Composition& pair) {
  RaceRequest request;
  request.workload = pair.needs_sequences() ? "gpt_tiny" : "parabola";
  request.strategy = pair.name();
  request.workers = pair.replicas() * pair.stages() * pair.shards();
  if (pair.replicas() > 1 && pair.stages() > 1) request.stages = pair.stages();
  if (request.workers > 2 && pair.shards() > 1) request.options["shards"] = pair.shards();
  return request;
}

/// The reason why a pair is refused; empty if it is allowed.
std::string why_refused(const Composition& pair) {
  return error_of([&] { place(request_of(pair), kExamples); }, ErrorKind::Usage);
}

const std::map<std::string, std::string>& refusals() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> found;
    for (const Composition& pair : pairs_and_triples()) found[pair.name()] = why_refused(pair);
    return found;
  }();
  return all;
}

bool runs(const Composition& pair) { return refusals().at(pair.name()).empty(); }

TEST(Compositions, AreRefusedByARuleThatSaysWhatToDo) {
  for (const auto& [name, why] : refusals()) {
    EXPECT_TRUE(why.empty() || why.find("; fix: ") != std::string::npos) << name << ": " << why;
  }
}

TEST(Compositions, OfSynchronousStrategiesFollowSingle) {
  for (const Composition& pair : pairs_and_triples()) {
    if (!runs(pair) || !pair.is_synchronous()) continue;
    SCOPED_TRACE(pair.name());
    const testing_support::Case test = pair.to_case();
    const testing_support::Deviation found =
        testing_support::deviation_from_single(test, testing_support::result_of(test));
    EXPECT_LT(found.losses, testing_support::bounds_of(test).losses);
    EXPECT_LT(found.parameters, testing_support::bounds_of(test).parameters);
  }
}

/// The distance that the variables of each loop have moved. A loop without steps is left out,
/// because another loop may take all steps of a run.
std::map<int, double> moved_since_start(Executor& executor) {
  const Step& step = executor.step();
  const std::vector<LoopReport> loops = executor.loops();
  std::map<int, double> moved;
  for (const Trainable& trainable : step.trainables) {
    const auto update = static_cast<std::size_t>(trainable.updates.front());
    const int loop = step.partition.loop_of[update];
    if (loops[static_cast<std::size_t>(loop)].steps == 0) continue;
    const Tensor& tensor = executor.variable(trainable.variable).tensor;
    const std::vector<float> last(tensor.f32(), tensor.f32() + tensor.elements());
    std::vector<float> first(last.size());
    initialize(step.graph, trainable.variable, testing_support::kSeed, first.data());
    moved[loop] += testing_support::distance({{"", last}}, {{"", first}});
  }
  return moved;
}

TEST(Compositions, OfOthersTrain) {
  for (const Composition& pair : pairs()) {
    if (!runs(pair) || pair.is_synchronous()) continue;
    SCOPED_TRACE(pair.name());
    testing_support::Case test = pair.to_case();
    test.steps = pair.needs_sequences() ? 40 : 400;
    testing_support::Trial run(testing_support::step_of(test),
                               testing_support::data_of(test.workload),
                               testing_support::options_of(test));
    const std::map<int, double> moved = moved_since_start(run.executor());
    EXPECT_FALSE(moved.empty());
    for (const auto& [loop, distance] : moved) {
      EXPECT_TRUE(std::isfinite(distance)) << loop;
      EXPECT_GT(distance, 0) << loop;
    }
  }
}

/// The rule in a refusal, without the strategy's name and the fix.
std::string rule_in(const std::string& why) {
  std::string rule = why.substr(0, why.find("; fix: "));
  const std::size_t quote = rule.find("' ");
  if (rule.starts_with("strategy '") && quote != std::string::npos) rule = rule.substr(quote + 2);
  return rule;
}

std::string tables() {
  std::ostringstream out;
  out << "| a | b, where a+b runs |\n| --- | --- |\n";
  for (const strategies::Strategy* first : strategies::all_strategies()) {
    std::string second;
    for (const strategies::Strategy* each : strategies::all_strategies()) {
      if (first->workers == strategies::WorkersAre::One ||
          each->workers == strategies::WorkersAre::One)
        continue;
      if (runs({{first, each}})) second += (second.empty() ? "" : ", ") + std::string(each->name);
    }
    if (!second.empty()) out << "| " << first->name << " | " << second << " |\n";
  }
  std::map<std::string, std::string> of_first;
  for (const Composition& each : triples()) {
    const std::string name = each.name();
    std::string& others = of_first[std::string(each.all[0]->name)];
    if (runs(each)) others += (others.empty() ? "" : ", ") + name.substr(name.find('+') + 1);
  }
  out << "\n| a | b+c, where a+b+c runs |\n| --- | --- |\n";
  for (const auto& [first, others] : of_first) {
    if (!others.empty()) out << "| " << first << " | " << others << " |\n";
  }
  std::map<std::string, std::pair<int, std::string>> rules;  // count and first of the refusals
  for (const Composition& pair : pairs()) {
    if (runs(pair)) continue;
    auto& [count, example] = rules[rule_in(refusals().at(pair.name()))];
    if (count++ == 0) example = pair.name();
  }
  out << "\n| pairs refused | such as | why |\n| --- | --- | --- |\n";
  for (const auto& [rule, found] : rules) {
    out << "| " << found.first << " | " << found.second << " | " << rule << " |\n";
  }
  return out.str();
}

TEST(Compositions, StandInTheReadme) {
  std::ostringstream text;
  text << std::ifstream(kReadme).rdbuf();
  const std::string readme = text.str();
  const std::size_t begin = readme.find(kBegin), end = readme.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << kReadme;
  ASSERT_NE(end, std::string::npos) << kReadme;
  const std::size_t from = begin + std::string(kBegin).size();
  const std::string made = testing::TempDir() + "compositions.md";
  std::ofstream(made) << readme.substr(0, from) << tables() << readme.substr(end);
  EXPECT_EQ(readme.substr(from, end - from), tables())
      << "other strategies compose than " << kReadme << " says; fix: cp " << made << ' ' << kReadme;
}

}  // namespace
}  // namespace regatta::plan
