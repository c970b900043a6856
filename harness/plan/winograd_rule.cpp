// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/winograd_rule.h"

#include "harness/plan/device_name.h"
#include "kernels/base/error.h"
#include "kernels/rewrite/winograd.h"
#include "kernels/runtime/devices.h"

namespace regatta::plan {

std::string why_not_winograd(const RaceRequest& request, const Graph& built) {
  if (is_gpu(request.device)) return "it is for --device cpu";
  for (NodeId id = 0; id < static_cast<NodeId>(built.nodes().size()); ++id) {
    if (gains_by_winograd(built, id)) return "";
  }
  return "no convolution of " + request.workload + " gains in " + request.dtype;
}

UseWinograd use_of_winograd(const RaceRequest& request, const Placement& placement,
                            const Graph& built) {
  if (request.winograd == "off") return UseWinograd::No;
  const std::string why_not = why_not_winograd(request, built);
  if (request.winograd == "on" && !why_not.empty()) {
    throw RunError(ErrorKind::Usage, "--winograd on cannot be: " + why_not +
                                         "; fix: leave it out, or give --winograd off");
  }
  const bool on = request.winograd == "on" ||
                  (why_not.empty() && !cpu_favours_direct_convolutions(placement.recipe.element));
  return on ? UseWinograd::Yes : UseWinograd::No;
}

}  // namespace regatta::plan
