// SPDX-License-Identifier: Apache-2.0
//
// The built-in matrices: the tiers race `single` and every strategy with several workers; the tier
// `claims` decides the claims of claims.h on two cores.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/matrix/matrix_plan.h"
#include "kernels/graph/names.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

struct Tier {
  const char* name;
  int seeds;
  std::vector<const char*> races;  ///< as TOML: a workload, and what else its cells are asked for
  const char* workers;             ///< as TOML
};

/// Half of resnet9_thin's own examples in as many steps, so that a seed of all cells fits into
/// three minutes on two cores that are five times as slow as those of an AMD Zen 5. Its target: 19
/// of 20 reference runs reach it (results/epyc-2-cores/quick_reference).
constexpr const char* kShortThin =
    "workload = \"resnet9_thin\"\nglobal_batch = 32\nepochs = 1\ntarget = 40\n";

const std::vector<Tier>& tiers() {
  static const std::vector<Tier> tiers = {
      {"quick", 5, {"workload = \"parabola\"\n", kShortThin}, "2"},
      {"standard", 5, {R"(workload = ["airbench94", "mobilenet_v2"])"}, "2"},
      {"full",
       10,
       {R"(workload = ["parabola", "resnet9_thin", "airbench94", "resnet9", "mobilenet_v2_full"])"},
       "[2, 4]"},
  };
  return tiers;
}

/// 11 minutes on two cores. What grows with the workers takes a few steps only: it
/// follows from the graph, and more workers than cores would tell nothing about time.
constexpr const char* kClaims = R"(
seeds = 5
[[race]]
workload = ["parabola", "resnet9_thin"]
strategy = ["independent", "in_graph", "central_storage", "all_reduce", "parameter_server",
            "parameter_server_async", "async_shared", "model_parallel"]
workers = 2
[[race]]
workload = ["parabola", "resnet9_thin"]
strategy = "all_reduce"
workers = 2
processes = 2
[[race]]
workload = ["parabola", "resnet9_thin"]
strategy = ["independent", "in_graph", "central_storage", "all_reduce", "parameter_server",
            "parameter_server_async", "async_shared"]
workers = 2
straggler = "1:2"
[[race]]
workload = "resnet9_thin"
strategy = ["in_graph", "parameter_server"]
workers = [2, 3, 4]
steps = 4
[[race]]
workload = "resnet9_thin"
strategy = "all_reduce"
all_reduce = ["ring", "reduce_to_one"]
workers = [2, 3, 4]
steps = 4
[[race]]
workload = "resnet9_thin"
strategy = "all_reduce"
workers = [2, 3, 4]
processes = [2, 3, 4]
steps = 4
[[exclude]]
workers = 2
processes = [3, 4]
[[exclude]]
workers = 3
processes = [2, 4]
[[exclude]]
workers = 4
processes = [2, 3]
)";

std::string parallel_strategies() {
  std::vector<std::string> names;
  for (const Strategy* strategy : all_strategies()) {
    if (strategy->workers != WorkersAre::One) {
      names.push_back('"' + std::string(strategy->name) + '"');
    }
  }
  return fmt::format("[{}]", fmt::join(names, ", "));
}

}  // namespace

MatrixPlan tier_plan(const std::string& name) {
  if (name == "claims") return parse_matrix(kClaims, "tier claims");
  std::vector<std::string> names = {"claims"};
  for (const Tier& tier : tiers()) {
    names.emplace_back(tier.name);
    if (tier.name != name) continue;
    std::string matrix = fmt::format("seeds = {}\n", tier.seeds);
    for (const char* race : tier.races) {
      matrix += fmt::format("[[race]]\n{}\nstrategy = \"single\"\n", race);
    }
    for (const char* race : tier.races) {
      matrix += fmt::format("[[race]]\n{}\nstrategy = {}\nworkers = {}\n", race,
                            parallel_strategies(), tier.workers);
    }
    return parse_matrix(matrix, "tier " + name);
  }
  throw unknown_name("tier", name, names);
}

}  // namespace regatta
