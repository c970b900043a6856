// SPDX-License-Identifier: Apache-2.0
//
// Decides how certain the first place of a workload's ranking is.
//
// The first cell is compared with each other cell whose median run reached the target: by the
// paired ratio of their times (paired_ratio.h), or by the Mann-Whitney test if a run missed the
// target. The same times decide which cell is first, so any pair of cells may be the one compared,
// and the test covers all pairs: Tukey's studentized range, or Bonferroni's correction over the
// pairs for Mann-Whitney. The probability that any comparison of a report is wrong is at most 5 %,
// shared equally among its workloads. The first place is sure if every other cell is certainly
// slower; cells that cannot be distinguished from the first form a group with it.
//
// Records with a round come from a matrix that stopped when its question was decided. Their test
// holds at any stopping time: at each look it spends a share of the error rate, divided by the
// number of pairs of cells (paired_ratio.h, at_look), and a run that missed its target counts with
// the time that it took at least. A cell is level with the first if its interval is as narrow as
// the precision of the matrix. Speed is judged over runs, not over steps, because most of the
// variation of a step's time lies between runs (results/verdicts.md).
#pragma once

#include <vector>

#include "harness/judge/judgement.h"

namespace regatta::judge {

/// Sorts the cells, the fastest to the target first, and balances typical_seconds over the seeds.
/// Ties are broken by the share of runs that reached the target, then by speed.
void rank(std::vector<CellJudgement>& cells);

/// Sets `first` of each workload of a report and `against_first` of its cells, which must be ranked
/// already.
void judge_first_places(std::vector<WorkloadJudgement>& workloads);

}  // namespace regatta::judge
