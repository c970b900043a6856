// SPDX-License-Identifier: Apache-2.0
//
// What is commonly taught of parallel training strategies, held against records. Each claim says
// what would make it false; a claim that the records cannot decide says so and how to decide it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/record.h"

namespace regatta {

enum class ClaimVerdict { Holds, DoesNotHold, Undecided };
/// `holds`, `does not hold here`, `undecided`
std::string_view to_string(ClaimVerdict verdict);

/// What a verdict rests on.
enum class Support {
  Suggested,    ///< comparisons on one side seed by seed, none of them significant
  Significant,  ///< the comparison that decides is, corrected for all of the claim
  Certain,      ///< chance plays no part
};
/// `suggested`, ...
std::string_view to_string(Support support);

struct Claim {
  std::string name;    ///< such as `waits_for_slowest`
  std::string taught;  ///< one sentence, as textbooks say it
  ClaimVerdict verdict = ClaimVerdict::Undecided;
  Support support = Support::Suggested;
  std::string because;               ///< what was compared, how it went, how sure
  std::vector<std::string> numbers;  ///< a line for each comparison
  std::string figure;                ///< plots/figure_<figure>.py shows it
  std::vector<std::string> missing;  ///< commands that would decide it; empty when it is decided
};

/// All claims, always in the same order. Runs are compared only within one workload, data set,
/// element type, batch, target, length, machine, build and commit; failed runs count only where a
/// target that was not reached counts as infinitely late.
std::vector<Claim> judge_claims(std::span<const Record> records);

}  // namespace regatta
