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

enum class ClaimVerdict {
  Holds,
  DoesNotHold,
  Mixed,      ///< some comparisons are on one side, some on the other
  Undecided,  ///< most comparisons do not tell
};
/// `holds`, `does not hold here`, ...
std::string_view to_string(ClaimVerdict verdict);

/// How many comparisons, or facts, are for a claim, against it, and do not tell.
struct Balance {
  std::size_t yes = 0;
  std::size_t no = 0;
  std::size_t unclear = 0;
};

struct Claim {
  std::string name;    ///< such as `waits_for_slowest`
  std::string taught;  ///< one sentence, as textbooks say it
  ClaimVerdict verdict = ClaimVerdict::Undecided;
  Balance balance;
  std::string because;               ///< what was compared, how it went, how sure
  std::vector<std::string> numbers;  ///< a line for each comparison
  std::string figure;                ///< plots/figure_<figure>.py shows it
  std::size_t seeds = 0;             ///< that would decide it; 0: no number would, or it is decided
  std::string missing;               ///< the command that would decide it; empty where `seeds` is 0
};

/// All claims, always in the same order. Runs are compared only within one workload, data set,
/// element type, batch, target, length, machine, build and commit; failed runs count only where a
/// target that was not reached counts as infinitely late. `folder`: where commands add their runs.
std::vector<Claim> judge_claims(std::span<const Record> records,
                                const std::string& folder = "out/claims");

}  // namespace regatta
