// SPDX-License-Identifier: Apache-2.0
//
// The matrices that come with the program, in the words of matrix_plan.h.
#include <array>
#include <string>
#include <vector>

#include "harness/matrix_plan.h"
#include "kernels/graph/names.h"

namespace regatta {
namespace {

struct Tier {
  const char* name;
  const char* matrix;
};

constexpr std::array kTiers = {
    Tier{"quick", R"(# every strategy on the workloads that take seconds
seeds = 5
[[race]]
workload = ["parabola", "resnet9_thin"]
strategy = "single"
[[race]]
workload = ["parabola", "resnet9_thin"]
strategy = ["independent", "in_graph", "central_storage", "all_reduce", "parameter_server",
            "parameter_server_async", "async_shared", "model_parallel"]
workers = 2
)"},
    Tier{"standard", R"(# the real images: hours on two cores
seeds = 3
[[race]]
workload = ["airbench94", "mobilenet_v2"]
strategy = "single"
[[race]]
workload = ["airbench94", "mobilenet_v2"]
strategy = ["in_graph", "central_storage", "all_reduce", "parameter_server",
            "parameter_server_async", "async_shared"]
workers = 2
)"},
    Tier{"full", R"(# the complete recipes: days on two cores
seeds = 10
[[race]]
workload = ["parabola", "resnet9_thin", "airbench94", "resnet9", "mobilenet_v2_full"]
strategy = "single"
[[race]]
workload = ["parabola", "resnet9_thin", "airbench94", "resnet9", "mobilenet_v2_full"]
strategy = ["independent", "in_graph", "central_storage", "all_reduce", "parameter_server",
            "parameter_server_async", "async_shared", "model_parallel"]
workers = [2, 4]
)"},
};

}  // namespace

MatrixPlan tier_plan(const std::string& name) {
  std::vector<std::string> names;
  for (const Tier& tier : kTiers) {
    if (tier.name == name) return parse_matrix(tier.matrix, "tier " + name);
    names.emplace_back(tier.name);
  }
  throw unknown_name("tier", name, names);
}

}  // namespace regatta
