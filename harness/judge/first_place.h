// SPDX-License-Identifier: Apache-2.0
//
// Which cell of a workload came first, and how sure that is.
//
// The first is held against each other cell that reached the target in the median, by
// paired_ratio.h; where a run missed it, by Mann-Whitney. It is chosen by the very times that are
// compared, so it may be any of the cells: the test is that of all pairs (Tukey's studentized
// range; Bonferroni over the pairs for Mann-Whitney), and all comparisons of a page together are
// wrong in 5 % of cases at most, of which each workload has its share. The first is sure when every
// other is slower; those that are not told from it are a group with it.
#pragma once

#include <vector>

#include "harness/judge/judgement.h"

namespace regatta {

/// Sets `first` and the cells' `against_first` of all workloads of a page; cells are ranked.
void judge_first_places(std::vector<WorkloadJudgement>& workloads);

}  // namespace regatta
