// SPDX-License-Identifier: Apache-2.0
//
// A made-up matrix that races until it is decided, for tests and the study.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "harness/judge/cell_identity.h"
#include "harness/matrix/decision.h"

namespace regatta::matrix {

/// Returns the record of a run of cell number `cell` with a seed.
using MakeRun = std::function<record::Record(std::size_t cell, std::uint64_t seed)>;

struct DecidedRace {
  judge::WorkloadJudgement race;  ///< points into `records`
  std::vector<record::Record> records;
  bool was_wrong = false;  ///< `is_wrong` held after some round
};

/// Races `cells` cells for up to `seeds` seeds, round after round, as MatrixLeg does.
inline DecidedRace race_until_decided(
    std::size_t cells, std::size_t seeds, const MakeRun& make,
    const std::function<bool(const judge::WorkloadJudgement&)>& is_wrong = {}) {
  MatrixPlan plan;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) plan.seeds.push_back(seed);
  for (std::size_t cell = 0; cell < cells; ++cell) {
    plan.cells.push_back({.key = judge::request_key(make(cell, 1))});
  }
  DecidedRace result;
  Decision decision(plan, seeds, 0.05, {});
  std::vector<std::size_t> runs(cells);
  for (std::size_t ordinal = 1; ordinal <= seeds; ++ordinal) {
    std::vector<record::Record> round;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      while (runs[cell] < ordinal && decision.needs_more(plan.cells[cell], runs[cell])) {
        record::Record& run = round.emplace_back(make(cell, ++runs[cell]));
        run.round = {.number = static_cast<std::int64_t>(judge::round_of(runs[cell])),
                     .precision = 0.05};
      }
    }
    if (round.empty()) break;
    result.records.insert(result.records.end(), round.begin(), round.end());
    if (ordinal < seeds && judge::round_of(ordinal) == judge::round_of(ordinal + 1)) continue;
    decision = Decision(plan, seeds, 0.05, result.records);
    if (is_wrong) result.was_wrong |= is_wrong(decision.races().front());
  }
  result.race = judge::judge_races(result.records).workloads.front();
  return result;
}

}  // namespace regatta::matrix
