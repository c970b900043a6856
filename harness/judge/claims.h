// SPDX-License-Identifier: Apache-2.0
//
// Common textbook claims about parallel training strategies, tested against records. Each claim
// states what would make it false; if the records cannot decide it, it names the runs that would.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/record.h"

namespace regatta::judge {

enum class ClaimVerdict {
  Holds,
  DoesNotHold,
  Mixed,      ///< some comparisons are on one side, some on the other
  Undecided,  ///< most comparisons are not decided
};
/// Returns the phrase shown in the report: `holds`, `does not hold here`, ...
std::string_view to_string(ClaimVerdict verdict);

/// The number of comparisons, or of facts, for and against a claim.
struct Balance {
  std::size_t yes = 0;      ///< for the claim
  std::size_t no = 0;       ///< against the claim
  std::size_t unclear = 0;  ///< undecided
};

struct Claim {
  std::string name;    ///< such as `waits_for_slowest`
  std::string taught;  ///< the claim as one sentence, as textbooks teach it
  ClaimVerdict verdict = ClaimVerdict::Undecided;
  Balance balance;
  std::string because;  ///< the comparison, its outcome and its certainty, as sentences
  std::vector<std::string> numbers;  ///< one line per comparison
  std::string figure;                ///< plots/figure_<figure>.py draws the evidence
  std::size_t seeds = 0;             ///< seeds that would decide; 0: none would, or decided
  std::string missing;               ///< the command that runs `seeds` seeds; empty if that is 0
};

/// Judges all claims, always in the same order. Runs are compared only within one workload, data
/// set, element type, batch, target, length, machine, build and commit; failed runs count only
/// where a missed target counts as infinitely late. `folder` is the folder to which the commands in
/// Claim::missing add runs.
std::vector<Claim> judge_claims(std::span<const record::Record> records,
                                const std::string& folder = "out/claims");

}  // namespace regatta::judge
