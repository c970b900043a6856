// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/winograd_rule.h"

#include "harness/plan/device_name.h"
#include "kernels/graph/error.h"
#include "kernels/graph/winograd.h"
#include "kernels/runtime/devices.h"

namespace regatta {

std::string why_not_winograd(const RaceRequest& request, const Placement& placement) {
  if (is_gpu(request.device)) return "it is for --device cpu";
  const Step step = placement.workload->training(placement.recipe);
  if (!has_winograd(by_winograd(step).graph)) {
    return "no convolution of " + request.workload + " gains in " + request.dtype;
  }
  return "";
}

UseWinograd use_of_winograd(const RaceRequest& request, const Placement& placement) {
  if (request.winograd == "off") return UseWinograd::No;
  const std::string why_not = why_not_winograd(request, placement);
  if (request.winograd == "on" && !why_not.empty()) {
    throw RunError(ErrorKind::Usage, "--winograd on cannot be: " + why_not +
                                         "; fix: leave it out, or give --winograd off");
  }
  const bool on = request.winograd == "on" ||
                  (why_not.empty() && !cpu_favours_direct_convolutions(placement.recipe.element));
  return on ? UseWinograd::Yes : UseWinograd::No;
}

}  // namespace regatta
