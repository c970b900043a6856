// SPDX-License-Identifier: Apache-2.0
//
// A lane's diagnosis of a diverged run, before the lane ends it.
#include <algorithm>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/guard/finite.h"
#include "kernels/runtime/lane.h"

namespace regatta {

/// Checks a copy if the host does not reach the device's memory.
bool Lane::is_finite(const Tensor& tensor) const {
  if (options_.queue == nullptr) return all_finite(tensor);
  std::vector<std::byte> copy(static_cast<std::size_t>(tensor.type.bytes()));
  options_.device->read(copy.data(), tensor.data, tensor.type.bytes());
  return all_finite({.type = tensor.type, .data = copy.data()});
}

/// Throws the error of a diverged run. It names the first tensor that is not finite: a variable
/// that the step began with or, when the kernels after the loss run again, the first output that
/// is not finite. Shared variables are checked in their readers' copies; received values still
/// exist (loss_evidence.h). No tensor is named if gathered parameters were freed, or after a
/// captured step, which has run to its end.
void Lane::diverged(const LossProbe& probe) {
  const std::string loss = "the loss is not finite at step " + std::to_string(step_) + " on " +
                           to_string(plan_.place) + "; ";
  if (captured_ != nullptr) {
    throw RunError(ErrorKind::Diverged,
                   loss +
                       "the step was launched as one CUDA graph: with --cuda-graph off a run "
                       "names the first tensor that is not finite");
  }
  const std::string where = loss + "the first tensor that is not finite: ";
  for (const Evidence& evidence : evidence_) {
    for (const auto& [name, tensor] : evidence.state) {
      if (!is_finite(tensor)) throw RunError(ErrorKind::Diverged, where + "variable " + name);
    }
  }
  if (std::any_of(graph_.nodes().begin(), graph_.nodes().end(), [&](const Node& node) {
        return node.place == plan_.place && node.attributes.has("frees");
      })) {
    throw RunError(ErrorKind::Diverged,
                   loss +
                       "parameters or tokens that were gathered for it are freed: "
                       "where they are kept until the step ends, a run names "
                       "the first tensor that is not finite");
  }
  const StepContext context{.step = step_, .examples = 0, .counters = &counters_};
  for (std::size_t i = 0; i < plan_.instructions.size(); ++i) {
    const Node& node = graph_.node(plan_.instructions[i].node);
    if (!probe.made_from.contains(plan_.instructions[i].node)) continue;
    if (!op_info(node.op).crosses && node.op != Op::Input) kernels_[i]->run(context);
    if (options_.queue != nullptr) finish_queue();
    for (const Tensor& output : evidence_[i].outputs) {
      if (is_finite(output)) continue;
      const std::string what =
          node.op == Op::Read
              ? "variable " + graph_.variable(node.variables[0]).name
              : "the output of " + std::string(to_string(node.op)) + " in layer " + node.layer;
      throw RunError(ErrorKind::Diverged, where + what);
    }
    if (plan_.instructions[i].node == probe.node) break;
  }
  throw RunError(ErrorKind::Diverged, where + "the loss itself");
}

}  // namespace regatta
