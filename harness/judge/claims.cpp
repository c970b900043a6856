// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/claims.h"

#include <fmt/format.h>

#include "harness/judge/claim_list.h"
#include "harness/system/number.h"

namespace regatta {

std::string_view to_string(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::Holds: return "holds";
    case ClaimVerdict::DoesNotHold: return "does not hold here";
    case ClaimVerdict::Mixed: return "mixed";
    case ClaimVerdict::Undecided: return "undecided";
  }
  return "unknown";
}

std::string label(const Contestant& contestant, const Field& field) {
  std::string text = contestant.strategy;
  text += " (" + plural(contestant.workers, "worker");
  for (const auto& [option, value] : contestant.options) {
    text += fmt::format(", {}={}", option, to_text(value));
  }
  if (contestant.rate_scale != 1) text += fmt::format(", rate x {}", contestant.rate_scale);
  if (!contestant.straggler.empty()) text += ", straggler " + contestant.straggler;
  return text + ") on " + field.name;
}

const std::pair<const Contestant, Runs>* counterpart(const Field& field, const Contestant& of,
                                                     const std::string& strategy,
                                                     std::optional<std::int64_t> processes) {
  const OptionValues options = options_under(strategy, of);
  const std::pair<const Contestant, Runs>* found = nullptr;
  for (const auto& cell : field.runs) {
    const Contestant& other = cell.first;
    if (other.strategy == strategy && other.options == options && same_resources(other, of) &&
        (!processes || other.processes == *processes)) {
      if (found == nullptr || other.rate_scale == of.rate_scale) found = &cell;
      if (other.rate_scale == of.rate_scale) break;
    }
  }
  return found;
}

std::vector<Claim> judge_claims(std::span<const Record> records) {
  const std::vector<Field> fields = fields_of(records);
  return {waits_for_slowest(fields),
          asynchronous_uses_hardware(fields),
          asynchronous_is_jittery(fields),
          asynchronous_needs_more_examples(fields),
          asynchronous_in_equal_time(fields),
          central_link_carries_all(fields),
          central_link_costs_time(fields),
          in_graph_grows(fields),
          central_storage_pays_transfers(fields),
          reduction_loads_one_device(fields),
          model_parallel_scales_poorly(fields),
          fewer_exchanges_cost_accuracy(fields),
          compression_seldom_pays(fields),
          sharding_costs_no_accuracy(fields)};
}

}  // namespace regatta
