// SPDX-License-Identifier: Apache-2.0
#include "strategies/passes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/distribute/averages_between.h"
#include "kernels/graph/verify.h"
#include "kernels/rewrite/bucket.h"
#include "kernels/rewrite/clip.h"
#include "kernels/rewrite/fuse.h"
#include "kernels/rewrite/winograd.h"
#include "strategies/microbatches.h"
#include "strategies/recompute.h"
#include "strategies/shared_options.h"
#include "strategies/shares.h"
#include "strategies/whole_updates.h"

namespace regatta::strategies {
namespace {

using Steps = std::vector<Step>;

Steps one(Step step) {
  Steps steps;
  steps.push_back(std::move(step));
  return steps;
}

/// Moves strategies that cut stages to after the last one that makes shards, whatever the given
/// order: the sums over shards then belong to the stages, and each microbatch has its own.
std::vector<const Strategy*> in_order(std::vector<const Strategy*> strategies) {
  const auto makes = [](WorkersAre workers) {
    return [=](const Strategy* each) { return each->workers == workers; };
  };
  const auto behind_shards =
      std::find_if(strategies.rbegin(), strategies.rend(), makes(WorkersAre::Shards)).base();
  std::stable_partition(strategies.begin(), behind_shards, std::not_fn(makes(WorkersAre::Stages)));
  return strategies;
}

Steps by_strategies(const Step& step, const PassInput& input) {
  Steps steps;
  const std::vector<const Strategy*> strategies = in_order(input.strategies);
  for (const Strategy* strategy : strategies) {
    steps = one(strategy->rewrite(steps.empty() ? step : steps.front(), input.options));
    if (strategy != strategies.back()) verify(steps.front(), std::string(strategy->name));
  }
  return steps;
}

/// Leaves a step alone whose strategy has a schedule of microbatches.
Steps with_microbatches(const Step& step, const PassInput& input) {
  const std::vector<const Option*> declared = options_of(input.strategies);
  const bool has_schedule =
      std::find(declared.begin(), declared.end(), &kMicrobatches) != declared.end();
  if (has_schedule || !input.options.given.contains(kMicrobatches.name)) return {};
  const std::int64_t count = input.options.count(kMicrobatches);
  return count > 1 ? one(accumulate(step, count)) : Steps{};
}

Steps with_recomputation(const Step& step, const PassInput& input) {
  const std::string which = input.options.choice(kRecompute);
  if (which == kRecomputations[0]) return {};
  return one(recompute(step, which == kSums   ? Recomputed::BlocksAndSums
                             : which == kFull ? Recomputed::Blocks
                                              : Recomputed::Cheap));
}

constexpr std::array kPasses = {
    StepPass{"build", [](auto&, auto& in) { return one(in.build()); },
             "a workload writes its step once, for the global batch"},
    StepPass{"fuse", [](auto& step, auto& in) { return in.fuse ? one(fuse(step)) : Steps{}; },
             "before strategies, which then copy fewer nodes and cut stages between fused nodes"},
    StepPass{"strategies", by_strategies, "each is a function of one whole step"},
    StepPass{"accumulate", with_microbatches,
             "each worker divides its own share, and applies, sends and clips sums of gradients"},
    StepPass{"recompute", with_recomputation,
             "behind accumulate, for each microbatch to recompute its own activations; before "
             "share, which gathers parameters once for a backward pass and its recomputation"},
    StepPass{"deal",
             [](auto& step, auto&) {
               return has_whole_updates_to_deal(step) ? one(deal_whole_updates(step)) : Steps{};
             },
             "before bucket, whose shares would divide a matrix that is updated as a whole"},
    StepPass{"bucket",
             [](auto& step, auto& in) { return one(bucket(step, in.options.count(kBucketBytes))); },
             "behind all strategies, each of which may replace or add a collective"},
    StepPass{"share",
             [](auto& step, auto&) {
               return has_sums_to_share(step.graph) ? one(apply_sharding(step)) : Steps{};
             },
             "a worker's share of its state is a range of a bucket"},
    StepPass{"clip",
             [](auto& step, auto&) {
               return step.gradient_clip > 0 ? one(clip_gradients(step)) : Steps{};
             },
             "the norm is a sum over all gradients, wherever they are applied"},
    StepPass{"winograd",
             [](auto& step, auto& in) { return in.winograd ? one(by_winograd(step)) : Steps{}; },
             "a strategy that divides channels changes which convolutions gain"},
    StepPass{"peers",
             [](auto& step, auto& in) {
               return averages_leave_a_process(step.graph, in.binding)
                          ? one(averages_between(step, in.binding))
                          : Steps{};
             },
             "an average that leaves a process becomes nodes whose values travel"},
    StepPass{"partition",
             [](auto& step, auto& in) { return partition(step, with_peers(in.binding)); },
             "last: it alone inserts sends and receives, and makes one step per process"}};

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
  return std::move(run_passes("strategies", "clip", step, input).front());
}

std::vector<Step> partitioned(const Step& placed, const Binding& binding) {
  PassInput input;
  input.binding = binding;
  return run_passes("peers", "partition", placed, input);
}

}  // namespace regatta::strategies
