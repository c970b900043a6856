// SPDX-License-Identifier: Apache-2.0
//
// The matrices that come with the program: of a tier's workloads, `single` and every strategy that
// has several workers.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "harness/matrix_plan.h"
#include "kernels/graph/names.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

struct Tier {
  const char* name;
  int seeds;
  const char* workloads;  ///< as TOML, like the next
  const char* workers;
};

constexpr std::array kTiers = {
    Tier{"quick", 5, R"(["parabola", "resnet9_thin"])", "2"},
    Tier{"standard", 3, R"(["airbench94", "mobilenet_v2"])", "2"},
    Tier{"full", 10,
         R"(["parabola", "resnet9_thin", "airbench94", "resnet9", "mobilenet_v2_full"])", "[2, 4]"},
};

std::string parallel_strategies() {
  std::vector<std::string> names;
  for (const Strategy& strategy : all_strategies()) {
    if (strategy.workers != WorkersAre::One)
      names.push_back('"' + std::string(strategy.name) + '"');
  }
  return fmt::format("[{}]", fmt::join(names, ", "));
}

}  // namespace

MatrixPlan tier_plan(const std::string& name) {
  std::vector<std::string> names;
  for (const Tier& tier : kTiers) {
    names.emplace_back(tier.name);
    if (tier.name != name) continue;
    const std::string matrix = fmt::format(
        "seeds = {}\n[[race]]\nworkload = {}\nstrategy = \"single\"\n"
        "[[race]]\nworkload = {}\nstrategy = {}\nworkers = {}\n",
        tier.seeds, tier.workloads, tier.workloads, parallel_strategies(), tier.workers);
    return parse_matrix(matrix, "tier " + name);
  }
  throw unknown_name("tier", name, names);
}

}  // namespace regatta
