// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/engine_rule.h"

#include <algorithm>
#include <vector>

#include "harness/plan/device_name.h"
#include "kernels/base/error.h"
#include "kernels/base/names.h"

namespace regatta::plan {

std::optional<EngineRule> engine_rule_of(const RaceRequest& request) {
  const std::vector<std::string> valid = {to_string(EngineRule::Timed),
                                          to_string(EngineRule::Heuristic)};
  const std::string asked = request.cudnn_engine.value_or(valid[0]);
  if (std::find(valid.begin(), valid.end(), asked) == valid.end()) {
    throw unknown_name("cudnn_engine", asked, valid);
  }
  if (is_gpu(request.device)) {
    return asked == valid[0] ? EngineRule::Timed : EngineRule::Heuristic;
  }
  if (request.cudnn_engine) {
    throw RunError(ErrorKind::Usage, "--cudnn-engine " + asked +
                                         " cannot be: it is for --device cuda; fix: leave it out");
  }
  return std::nullopt;
}

EngineRule engines_of(const Placement& placement) {
  return placement.engines.value_or(EngineRule::Heuristic);
}

std::string to_string(EngineRule rule) { return rule == EngineRule::Timed ? "timed" : "heuristic"; }

}  // namespace regatta::plan
