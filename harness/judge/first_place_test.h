// SPDX-License-Identifier: Apache-2.0
//
// Made-up races for tests of verdicts: the examples a run needs for its target are drawn at random,
// and its evaluations follow from them.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "harness/record/record.h"

namespace regatta::judge {

/// The effect of a strategy on the runs of a cell.
struct MadeUpCell {
  std::string strategy;
  double examples = 1;        ///< to the target, relative to a usual run
  double each = 1;            ///< time for an example, relative to a usual run
  double examples_noise = 0;  ///< deviation of the logarithm, besides the seed's
  double each_noise = 0.01;
};

struct MadeUpRace {
  int seeds = 5;
  double step = 0.02;        ///< between evaluations, as a share of the examples of a usual run
  double seed_noise = 0.05;  ///< of examples to the target; all runs of a seed share it
};

constexpr double kUsualExamples = 100'000;

/// A run with linearly growing accuracy that reaches the target of 90 at `crossing` examples.
inline record::Record made_up_run(const MadeUpCell& cell, std::uint64_t seed, double crossing,
                                  double seconds_each, double step) {
  record::Record record;
  record.run_id = cell.strategy + std::to_string(seed);
  record.cell = {.workload = "resnet9_thin", .strategy = cell.strategy, .workers = 2, .seed = seed};
  record.target = {.metric = "accuracy", .value = 90};
  record.status = record::Status::Reached;
  const auto every = static_cast<std::int64_t>(step * kUsualExamples);
  for (std::int64_t examples = 0; !record.examples_to_target; examples += every) {
    const auto made = static_cast<double>(examples);
    record.evaluations.push_back(
        {.examples = examples,
         .training_time_ns = static_cast<std::int64_t>(made * seconds_each * 1e9),
         .metric = 90 * made / crossing});
    if (made < crossing) continue;
    record.examples_to_target = examples;
    record.training_time_to_target_ns = record.evaluations.back().training_time_ns;
    record.full_time_to_target_ns = record.training_time_to_target_ns;
  }
  record.examples_per_s = 1 / seconds_each;
  record.step_time_ns.count = 1000;
  return record;
}

/// Makes the records of a race, seeds outermost like a matrix.
inline std::vector<record::Record> made_up_races(const std::vector<MadeUpCell>& cells,
                                                 const MadeUpRace& race, std::mt19937_64& chance) {
  std::normal_distribution<double> normal;
  std::vector<record::Record> records;
  for (int seed = 1; seed <= race.seeds; ++seed) {
    const double of_seed = kUsualExamples * std::exp(race.seed_noise * normal(chance));
    for (const MadeUpCell& cell : cells) {
      const double crossing =
          of_seed * cell.examples * std::exp(cell.examples_noise * normal(chance));
      const double each = 1e-4 * cell.each * std::exp(cell.each_noise * normal(chance));
      records.push_back(
          made_up_run(cell, static_cast<std::uint64_t>(seed), crossing, each, race.step));
    }
  }
  return records;
}

}  // namespace regatta::judge
