// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/claims.h"

#include <fmt/format.h>

#include <set>

#include "harness/judge/claim_list.h"
#include "harness/system/command_text.h"
#include "harness/system/duration.h"

namespace regatta::judge {

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
  return text_of(contestant) + " on " + field.name;
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

namespace {

/// Estimates the time of the runs that cells lack to reach `seeds`, from the runs they have.
double missing_seconds(std::span<const Field> fields, std::size_t seeds) {
  double seconds = 0;
  for (const Field& field : fields) {
    for (const auto& [contestant, runs] : field.runs) {
      std::set<std::uint64_t> there;
      std::int64_t spent_ns = 0;
      for (const record::Record* run : runs) {
        there.insert(run->cell.seed);
        spent_ns += run->setup_ns + run->warmup_ns + run->full_ns;
      }
      if (there.size() >= seeds) continue;
      seconds += static_cast<double>(seeds - there.size()) * static_cast<double>(spent_ns) * 1e-9 /
                 static_cast<double>(runs.size());
    }
  }
  return seconds;
}

void name_remedy(Claim& claim, std::span<const Field> fields, const std::string& folder) {
  if (claim.seeds == 0) return;
  const std::vector<std::string> words = {"regatta", "matrix",  "--tier",
                                          "claims",  "--seeds", std::to_string(claim.seeds),
                                          "--out",   folder,    "--resume"};
  claim.missing = system::command_text(words);
  const Balance& balance = claim.balance;
  if (balance.yes + balance.no + balance.unclear == 0) {
    claim.because += " With --dry-run the command shows how long it takes, as far as runs tell.";
  } else {
    claim.because += fmt::format(" To give each cell {} seeds takes about {}.", claim.seeds,
                                 system::rough_duration(missing_seconds(fields, claim.seeds)));
  }
}

}  // namespace

std::vector<Claim> judge_claims(std::span<const record::Record> records,
                                const std::string& folder) {
  const std::vector<Field> fields = fields_of(records);
  std::vector<Claim> claims = {waits_for_slowest(fields),
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
                               outer_optimizer_helps(fields),
                               compression_seldom_pays(fields),
                               sharding_costs_no_accuracy(fields)};
  for (Claim& claim : claims) name_remedy(claim, fields, folder);
  return claims;
}

}  // namespace regatta::judge
