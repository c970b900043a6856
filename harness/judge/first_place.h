// SPDX-License-Identifier: Apache-2.0
//
// Which cell of a workload came first, and how sure that is.
//
// The first is held against each other cell that reached the target in the median, by
// paired_ratio.h; where a run missed it, by Mann-Whitney. All comparisons of a page together are
// wrong in 5 % of cases at most: each has its share of that (Bonferroni), half of it for either
// side. The first is sure when every other is slower; those that are not told from it are a group
// with it. Where it is chosen by its time among cells that are equally fast, that costs nothing:
// that it seems faster than one of them is then one of these cases (multiple comparisons with the
// best: Hsu, "Multiple Comparisons", 1996, chapter 4).
#pragma once

#include <vector>

#include "harness/judge/judgement.h"

namespace regatta {

/// Sets `first` and the cells' `against_first` of all workloads of a page; cells are ranked.
void judge_first_places(std::vector<WorkloadJudgement>& workloads);

}  // namespace regatta
