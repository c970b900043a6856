// SPDX-License-Identifier: Apache-2.0
//
// The first cell of a workload, and how certain its place is.
//
// The first is compared with each other cell that reached the target in the median, by
// paired_ratio.h; where a run missed it, by Mann-Whitney. The first is chosen by the same times
// that are compared, so it may be any of the cells: the test is that of all pairs (Tukey's
// studentized range; Bonferroni over the pairs for Mann-Whitney). All comparisons of a page
// together are wrong in at most 5 % of cases, of which each workload has its share. The first is
// sure when every other is slower; cells that cannot be distinguished from it form a group with it.
#pragma once

#include <vector>

#include "harness/judge/judgement.h"

namespace regatta {

/// Sets `first` and the cells' `against_first` of all workloads of a page; cells must be ranked.
void judge_first_places(std::vector<WorkloadJudgement>& workloads);

}  // namespace regatta
