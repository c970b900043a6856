// SPDX-License-Identifier: Apache-2.0
//
// Measures how often a matrix that races until it is decided is wrong, and how many runs it takes.
// usage: ci/decide_study [MATRICES] [SEED] [ROW]: made-up matrices a row (default: 1000), the seed
// of chance (default: 31) and one row, from 1 on (default: all). Prints the table of
// results/verdicts.md. The fixed design has as many seeds as decide as many of the matrices; there
// is none where fewer than half are decided.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "harness/judge/first_place_test.h"
#include "harness/matrix/decided_race_for_test.h"

namespace regatta::matrix {
namespace {

constexpr std::size_t kSeeds = judge::kMostSeedsToDecide;

struct Scenario {
  const char* name;
  std::vector<double> each;  ///< true times, the least is first
  bool has_tails = false;    ///< t with 3 degrees of freedom, and one run in 20 takes much longer
  std::size_t missing = 0;   ///< cells, the last, of which a third of the runs miss the target
};

std::vector<Scenario> scenarios() {
  const auto one_faster = [](double by) {
    std::vector<double> each(16, 1 + by);
    each.front() = 1;
    return each;
  };
  std::vector<double> group(16, 2);
  for (std::size_t cell = 0; cell < 10; ++cell)
    group[cell] = 1 + 0.03 * static_cast<double>(cell) / 9;
  const std::vector<double> equal(16, 1);
  return {{"16 equal cells", equal},
          {"one 5 % faster", one_faster(0.05)},
          {"one 10 % faster", one_faster(0.1)},
          {"one 30 % faster", one_faster(0.3)},
          {"10 within 3 %, 6 twice as slow", group},
          {"16 equal cells, heavy tails", equal, true},
          {"one 30 % faster, 4 with misses", one_faster(0.3), false, 4}};
}

using Chance = std::mt19937_64;

/// The runs of one matrix, by cell and seed.
std::vector<std::vector<record::Record>> runs_of(const Scenario& scenario, double spread,
                                                 Chance& chance) {
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> heavy(3);
  std::uniform_real_distribution<double> uniform;
  std::vector<std::vector<record::Record>> runs(scenario.each.size());
  for (std::size_t cell = 0; cell < runs.size(); ++cell) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      double noise =
          spread * (scenario.has_tails ? heavy(chance) / std::sqrt(3.0) : normal(chance));
      if (scenario.has_tails && uniform(chance) < 0.05) noise += 10 * spread * uniform(chance);
      record::Record& run = runs[cell].emplace_back(
          judge::made_up_run({.strategy = fmt::format("s{}", cell)}, seed, 1e5,
                             1e-4 * scenario.each[cell] * std::exp(noise), 0.5));
      run.examples_per_s = 0;  // so that its strategy need not be looked up
      const bool can_miss = cell + scenario.missing >= runs.size();
      if (!can_miss || uniform(chance) > 1.0 / 3) continue;
      run.status = record::Status::Missed;
      run.training_time_to_target_ns = run.full_time_to_target_ns = {};
      run.examples_to_target = {};
    }
  }
  return runs;
}

std::size_t number_of(const judge::CellJudgement& cell) {
  return std::strtoul(cell.runs.front()->cell.strategy.c_str() + 1, nullptr, 10);
}

/// Whether a cell is called slower than one that is no faster.
bool is_wrong(const Scenario& scenario, const judge::WorkloadJudgement& race) {
  const double first = scenario.each[number_of(race.cells.front())];
  return std::ranges::any_of(race.cells, [&](const judge::CellJudgement& cell) {
    return cell.against_first.standing == judge::Standing::Slower &&
           scenario.each[number_of(cell)] <= first;
  });
}

/// Whether each cell of a fixed design is slower, or known as precisely as a race would ask.
bool is_decided(const judge::WorkloadJudgement& fixed) {
  return std::ranges::all_of(fixed.cells, [](const judge::CellJudgement& cell) {
    const auto& [standing, ratio, interval, p] = cell.against_first;
    return standing != judge::Standing::Open ||
           (interval && interval->high < interval->low * 1.05 * 1.05);
  });
}

struct Row {
  double wrong = 0, decided = 0, runs = 0;
  std::string fixed;
};

Row study(const Scenario& scenario, double spread, int matrices, std::uint64_t seed) {
  constexpr std::array<std::size_t, 9> kFixed = {2, 3, 4, 5, 7, 10, 14, 19, kSeeds};
  Chance chance(seed);
  Row row;
  std::array<double, kFixed.size()> decided{};
  for (int matrix = 0; matrix < matrices; ++matrix) {
    const auto runs = runs_of(scenario, spread, chance);
    const DecidedRace race = race_until_decided(
        runs.size(), kSeeds,
        [&](std::size_t cell, std::uint64_t one) { return runs[cell][one - 1]; },
        [&](const judge::WorkloadJudgement& each) { return is_wrong(scenario, each); });
    row.wrong += race.was_wrong;
    row.decided += race.race.rounds->is_decided;
    row.runs += static_cast<double>(race.records.size());
    for (std::size_t i = 0; i < kFixed.size(); ++i) {
      std::vector<record::Record> fixed;
      for (const auto& cell : runs) {
        fixed.insert(fixed.end(), cell.begin(),
                     cell.begin() + static_cast<std::ptrdiff_t>(kFixed[i]));
      }
      decided[i] += is_decided(judge::judge_races(fixed).workloads.front());
    }
  }
  row.fixed = fmt::format("> {}", kSeeds * scenario.each.size());
  if (2 * row.decided < matrices) row.fixed = "–";
  for (std::size_t i = kFixed.size(); i-- > 0 && 2 * row.decided >= matrices;) {
    if (decided[i] >= row.decided) row.fixed = fmt::format("{}", kFixed[i] * scenario.each.size());
  }
  const double n = matrices;
  return {row.wrong / n, row.decided / n, row.runs / n, row.fixed};
}

void print_table(int matrices, std::uint64_t seed, int only) {
  fmt::print(
      "| cells | runs vary by | wrongly slower | decided | runs | runs of a fixed design |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  int number = 0;
  for (const Scenario& scenario : scenarios()) {
    for (const double spread : {0.02, 0.05, 0.15}) {
      if (++number != only && only != 0) continue;
      const Row row = study(scenario, spread, matrices, seed);
      fmt::print("| {} | {:.0f} % | {:.1f} % | {:.0f} % | {:.0f} | {} |\n", scenario.name,
                 100 * spread, 100 * row.wrong, 100 * row.decided, row.runs, row.fixed);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace regatta::matrix

int main(int argc, char** argv) {
  const int matrices = argc > 1 ? std::atoi(argv[1]) : 1000;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 31;
  regatta::matrix::print_table(matrices, seed, argc > 3 ? std::atoi(argv[3]) : 0);
}
