// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/capture_rule.h"

#include "harness/plan/device_name.h"
#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"

namespace regatta::plan {

std::string why_not_captured(const RaceRequest& request, const Placement& placement) {
  if (!is_gpu(request.device)) return "it is for --device cuda";
  if (placement.servers > 0) return "the host carries what goes to and from servers";
  if (placement.facts.has_quorum) return "the host decides which pushes count";
  if (placement.facts.exchanges_differ) return "workers exchange in some steps only";
  if (placement.facts.needs_the_host) return "the host holds and updates the parameters";
  if (placement.facts.carries_shares && !placement.by_nccl && placement.processes > 1) {
    return "the host carries the workers' shares of values";
  }
  const std::string algorithm = placement.options.choice(strategies::kAlgorithm);
  const bool gpu_sums = placement.processes == 1 && has_addition_orders(algorithm);
  if (placement.facts.sums_gradients && !placement.by_nccl && !gpu_sums) {
    return "the host sums by --all-reduce " + algorithm +
           "; between processes NCCL's ring and nccl can be captured, in one process all but "
           "double_tree and torus";
  }
  if (placement.sends_values) return "the host carries what goes to and from other processes";
  if (!request.stragglers.empty()) return "--straggler delays a worker within its steps";
  if (!request.trace.empty()) return "--trace looks at single kernels";
  return "";
}

LaunchSteps launch_of_steps(const RaceRequest& request, const Placement& placement) {
  const std::string why_not = why_not_captured(request, placement);
  if (request.cuda_graph == "on" && !why_not.empty()) {
    throw RunError(ErrorKind::Usage, "--cuda-graph on cannot be: " + why_not +
                                         "; fix: leave it out, or give --cuda-graph off");
  }
  const bool captures = request.cuda_graph != "off" && why_not.empty();
  return captures ? LaunchSteps::AsOne : LaunchSteps::ByKernel;
}

workloads::Recipe evaluated_recipe(const RaceRequest& request, const workloads::Recipe& recipe,
                                   std::int64_t examples) {
  constexpr std::int64_t kOfGpu = 2000;
  workloads::Recipe evaluated = recipe;
  if (is_gpu(request.device) && kOfGpu > recipe.evaluation_batch && examples % kOfGpu == 0) {
    evaluated.evaluation_batch = kOfGpu;
  }
  while (examples % evaluated.evaluation_batch != 0) --evaluated.evaluation_batch;
  return evaluated;
}

LaunchSteps launch_of_evaluations(const RaceRequest& request) {
  const bool captures = is_gpu(request.device) && request.cuda_graph != "off";
  return captures ? LaunchSteps::AsOne : LaunchSteps::ByKernel;
}

}  // namespace regatta::plan
