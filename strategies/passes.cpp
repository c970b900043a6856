// SPDX-License-Identifier: Apache-2.0
#include "strategies/passes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "kernels/graph/averages_between.h"
#include "kernels/graph/bucket.h"
#include "kernels/graph/error.h"
#include "kernels/graph/fuse.h"
#include "kernels/graph/open_sums.h"
#include "kernels/graph/verify.h"
#include "kernels/graph/winograd.h"
#include "strategies/shared_options.h"
#include "strategies/shares.h"

namespace regatta {
namespace {

using Steps = std::vector<Step>;

Steps by_strategies(const Step& step, const PassInput& input) {
  Steps steps;
  for (const Strategy* strategy : input.strategies) {
    steps = {strategy->rewrite(steps.empty() ? step : steps.front(), input.options)};
    if (strategy != input.strategies.back()) verify(steps.front(), std::string(strategy->name));
  }
  return steps;
}

constexpr std::array kPasses = {
    StepPass{"build", [](const Step&, const PassInput& input) { return Steps{input.build()}; },
             "a workload writes its step once, for the global batch"},
    StepPass{"fuse",
             [](const Step& step, const PassInput& input) {
               return input.fuse ? Steps{fuse(step)} : Steps{};
             },
             "before strategies, which then copy fewer nodes and cut stages where fused nodes end"},
    StepPass{"strategies", by_strategies,
             "each is a function of one whole step, in the order given"},
    StepPass{"bucket",
             [](const Step& step, const PassInput& input) {
               return Steps{bucket(step, input.options.count(kBucketBytes))};
             },
             "behind all strategies, each of which may replace or add a collective"},
    StepPass{"share",
             [](const Step& step, const PassInput&) {
               return has_sums_to_share(step.graph) ? Steps{apply_sharding(step)} : Steps{};
             },
             "a worker's share of its state is a range of a bucket"},
    StepPass{"winograd",
             [](const Step& step, const PassInput& input) {
               return input.winograd ? Steps{by_winograd(step)} : Steps{};
             },
             "a strategy that divides channels changes which convolutions gain"},
    StepPass{"algorithms",
             [](const Step& step, const PassInput& input) {
               return input.algorithms.empty() ? Steps{}
                                               : Steps{with_algorithms(step, input.algorithms)};
             },
             "costs of a sum follow from its bucket and from the processes of its members"},
    StepPass{"peers",
             [](const Step& step, const PassInput& input) {
               return averages_leave_a_process(step.graph, input.binding)
                          ? Steps{averages_between(step, input.binding)}
                          : Steps{};
             },
             "an average that leaves a process becomes nodes at both replicas, whose values then "
             "travel"},
    StepPass{"partition",
             [](const Step& step, const PassInput& input) {
               return partition(step, with_peers(input.binding));
             },
             "last: it alone inserts sends and receives, and ends with one step per process"}};

const StepPass* find_pass(std::string_view name) {
  const auto* const found = std::find_if(kPasses.begin(), kPasses.end(),
                                         [&](const StepPass& each) { return each.name == name; });
  check(found != kPasses.end(), "passes are named as in their table");
  return found;
}

}  // namespace

std::span<const StepPass> all_passes() { return kPasses; }

std::vector<Step> run_passes(std::string_view first, std::string_view last, const Step& step,
                             const PassInput& input, const PassWatch& watch) {
  using Clock = std::chrono::steady_clock;
  Steps behind;
  for (const StepPass& pass : std::span(find_pass(first), find_pass(last) + 1)) {
    const Clock::time_point begin = Clock::now();
    if (Steps made = pass.run(behind.empty() ? step : behind.front(), input); !made.empty()) {
      for (const Step& each : made) verify(each, std::string(pass.name));
      behind = std::move(made);
    }
    const std::int64_t ns = std::chrono::nanoseconds(Clock::now() - begin).count();
    if (watch)
      watch(pass, ns, behind.empty() ? std::span(&step, 1) : std::span<const Step>(behind));
  }
  if (behind.empty()) behind.push_back(step);
  return behind;
}

Step apply(std::span<const Strategy* const> strategies, const Step& step,
           const StrategyOptions& options) {
  verify(step, "building the workload");
  PassInput input;
  input.strategies.assign(strategies.begin(), strategies.end());
  input.options = options;
  return std::move(run_passes("strategies", "share", step, input).front());
}

std::vector<Step> partitioned(const Step& placed, const Binding& binding) {
  PassInput input;
  input.binding = binding;
  return run_passes("peers", "partition", placed, input);
}

}  // namespace regatta
