// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/tiers.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/base/names.h"
#include "strategies/strategy.h"
#include "workloads/shared_options.h"
#include "workloads/workload.h"

namespace regatta::matrix {
namespace {

/// A tier of races of `single` and every strategy with several workers.
struct Races {
  int seeds = 1;
  std::vector<std::string> workloads;
  const char* workers = "2";  ///< as TOML
};

struct Tier {
  const char* name;
  const char* summary;
  std::string matrix;  ///< as TOML
};

/// The matrix takes a quarter of an hour on two cores. A few steps suffice to measure how bytes and
/// memory grow with the workers, because they follow from the graph; times are meaningless with
/// more workers than cores. Buckets of a quarter MiB divide resnet9_thin's parameters into several;
/// with fewer than three buckets no memory is freed.
constexpr const char* kClaims = R"(
seeds = 5
[[race]]
workload = ["parabola", "gpt_tiny", "resnet9_thin"]
strategy = ["independent", "in_graph", "central_storage", "all_reduce", "parameter_server",
            "parameter_server_async", "async_shared", "model_parallel"]
workers = 2
[[race]]
workload = ["parabola", "gpt_tiny", "resnet9_thin"]
strategy = "all_reduce"
workers = 2
processes = 2
[[race]]
workload = ["parabola", "gpt_tiny", "resnet9_thin"]
strategy = ["independent", "in_graph", "central_storage", "all_reduce", "parameter_server",
            "parameter_server_async", "async_shared"]
workers = 2
straggler = "1:2"
[[race]]
workload = ["parabola", "gpt_tiny", "resnet9_thin"]
strategy = "all_reduce+powersgd"
workers = 2
[[race]]
workload = ["parabola", "gpt_tiny", "resnet9_thin"]
strategy = ["local_sgd", "diloco"]
sync_every = [1, 16]
workers = 2
[[race]]
workload = "gpt_tiny"
strategy = "single"
[[race]]
workload = "gpt_tiny"
strategy = "diloco"
sync_every = [1, 16]
workers = [1, 4]
[[race]]
workload = "gpt_thin"
strategy = "all_reduce"
global_batch = 4
workers = 4
processes = 4
steps = 16
[[race]]
workload = "gpt_thin"
strategy = "sharded"
shard = ["optimizer", "gradients", "parameters"]
global_batch = 4
workers = 4
processes = 4
steps = 16
[[race]]
workload = "resnet9_thin"
strategy = "all_reduce"
bucket_bytes = 262144
workers = [4, 8]
steps = 16
[[race]]
workload = "resnet9_thin"
strategy = "sharded"
shard = ["optimizer", "gradients", "parameters"]
bucket_bytes = 262144
workers = [4, 8]
steps = 16
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

constexpr const char* kCompressed = R"([[race]]
workload = "gpt_tiny"
strategy = ["all_reduce+powersgd", "all_reduce+bf16_compress"]
workers = 2
)";

/// Lists the strategies that train all workloads, or only sequences. A matrix with a time limit may
/// leave out the last cells, so strategies that cannot win or take long come last.
std::string parallel_strategies(strategies::Trains trains) {
  std::vector<std::string> names, last;
  for (const strategies::Strategy* strategy : strategies::all_strategies()) {
    if (strategy->trains == trains && (strategy->workers == strategies::WorkersAre::Replicas ||
                                       strategies::share_a_replica(strategy->workers))) {
      const bool is_last = strategy->exchange == strategies::Exchange::Nothing ||
                           (strategy->exchange == strategies::Exchange::Asynchronous &&
                            strategy->processes == strategies::Processes::WithServers);
      (is_last ? last : names).push_back('"' + std::string(strategy->name) + '"');
    }
  }
  names.insert(names.end(), last.begin(), last.end());
  return fmt::format("[{}]", fmt::join(names, ", "));
}

std::string matrix_of(const Races& tier) {
  std::string matrix = fmt::format("seeds = {}\n", tier.seeds);
  const auto add = [&](const std::vector<std::string>& workloads, const std::string& others) {
    matrix +=
        fmt::format("[[race]]\nworkload = [\"{}\"]\n{}\n", fmt::join(workloads, "\", \""), others);
  };
  const auto parallel = [&](strategies::Trains trains) {
    return fmt::format("strategy = {}\nworkers = {}", parallel_strategies(trains), tier.workers);
  };
  add(tier.workloads, "strategy = \"single\"");
  add(tier.workloads, parallel(strategies::Trains::All));
  std::vector<std::string> of_sequences = tier.workloads;
  std::erase_if(of_sequences, [](const std::string& name) {
    const auto& options = workloads::find_workload(name).options;
    return std::none_of(options.begin(), options.end(), [](const workloads::WorkloadOption& each) {
      return each.option == &workloads::kContext;
    });
  });
  add(of_sequences, parallel(strategies::Trains::Sequences));
  return matrix;
}

const std::vector<Tier>& tiers() {
  static const std::vector<Tier> tiers = {
      {"quick", "a first look: small workloads, every strategy",
       matrix_of({5, {"parabola", "gpt_tiny"}, "2"}) + kCompressed},
      {"claims", "what textbooks say of the strategies, put to the test", kClaims},
      {"standard", "a language model and two networks of images, every strategy",
       matrix_of({5, {"gpt_thin", "airbench94", "mobilenet_v2"}, "2"})},
      {"full", "complete recipes, with 2 and 4 workers",
       matrix_of({10,
                  {"parabola", "gpt_tiny", "resnet9_thin", "gpt_thin", "airbench94", "resnet9",
                   "mobilenet_v2_full"},
                  "[2, 4]"})},
  };
  return tiers;
}

/// Throws: RunError(Usage).
const Tier& find_tier(const std::string& name) {
  for (const Tier& tier : tiers()) {
    if (tier.name == name) return tier;
  }
  throw unknown_name("tier", name, tier_names());
}

}  // namespace

std::vector<std::string> tier_names() {
  std::vector<std::string> names;
  for (const Tier& tier : tiers()) names.emplace_back(tier.name);
  return names;
}

std::string tier_summary(const std::string& name) { return find_tier(name).summary; }

std::string tier_text(const std::string& name) { return find_tier(name).matrix; }

MatrixPlan tier_plan(const std::string& name) {
  return parse_matrix(tier_text(name), "tier " + name);
}

const char* const kTuneText = R"(
[[tune]]
workload = ["parabola", "gpt_tiny", "resnet9_thin"]
strategy = ["local_sgd", "diloco", "gossip", "parameter_server_async", "async_shared", "ad_psgd",
            "top_k", "powersgd"]
rate_scale = [0.5, 1, 2]
)";

}  // namespace regatta::matrix
