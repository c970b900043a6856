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

namespace regatta {

enum class ClaimVerdict {
  Holds,
  DoesNotHold,
  Mixed,      ///< some comparisons are on one side, some on the other
  Undecided,  ///< most comparisons are not decided
};
/// Returns the phrase on the page: `holds`, `does not hold here`, ...
std::string_view to_string(ClaimVerdict verdict);

/// Numbers of comparisons, or facts, for a claim, against it, and undecided.
struct Balance {
  std::size_t yes = 0;
  std::size_t no = 0;
  std::size_t unclear = 0;
};

struct Claim {
  std::string name;    ///< such as `waits_for_slowest`
  std::string taught;  ///< one sentence, in the words of textbooks
  ClaimVerdict verdict = ClaimVerdict::Undecided;
  Balance balance;
  std::string because;               ///< the comparison, its outcome and its certainty
  std::vector<std::string> numbers;  ///< a line for each comparison
  std::string figure;                ///< plots/figure_<figure>.py shows it
  std::size_t seeds = 0;             ///< would decide it; 0: no number would, or it is decided
  std::string missing;               ///< the command that would decide it; empty where `seeds` is 0
};

/// Judges all claims, always in the same order. Runs are compared only within one workload, data
/// set, element type, batch, target, length, machine, build and commit; failed runs count only
/// where a missed target counts as infinitely late. `folder`: where commands add their runs.
std::vector<Claim> judge_claims(std::span<const Record> records,
                                const std::string& folder = "out/claims");

}  // namespace regatta
