// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/fingerprint.h"

#include <fmt/format.h>

#include <map>

#include "harness/plan/engine_rule.h"
#include "kernels/base/random.h"
#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/text.h"

namespace regatta {
namespace {

std::string digits(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

/// The number of collectives, and a hash of their group numbers and sizes.
std::string buckets_of(const Graph& graph) {
  std::map<std::int64_t, std::int64_t> elements;
  for (const Node& node : graph.nodes()) {
    if (!is_collective(node.op) || node.member != 0) continue;
    for (const TensorType& type : bucket_of(graph, node)) {
      elements[node.attributes.integer("group")] += type.elements();
    }
  }
  std::string text;
  for (const auto& [group, count] : elements) text += fmt::format("{}:{} ", group, count);
  return fmt::format("{} of layout {}", elements.size(), digits(fnv1a(text)));
}

std::string options_text(const Placement& placement) {
  std::string text;
  for (const Option* option : options_of(placement.strategies)) {
    const auto value = placement.options.find(*option);
    if (!value) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", option->name, to_text(*value));
  }
  return text.empty() ? "none" : text;
}

std::string recipe_of(const Recipe& recipe) {
  return fmt::format("batch {}, {} of {} examples, rate scale {:g}{}", recipe.global_batch,
                     recipe.total_examples, recipe.train_examples, recipe.rate_scale,
                     recipe.normalization_group
                         ? fmt::format(", normalisation groups of {}", *recipe.normalization_group)
                         : "");
}

}  // namespace

Fingerprint fingerprint_of(const RaceRequest& request, const Placement& placement,
                           const Step& placed, const DataSet& data, const SoftwareFacts& software) {
  Fingerprint lines = {
      {"protocol", kProtocolVersion},
      {"regatta", software.git_commit + (software.dirty ? ", changed" : "")},
      {"compiler", software.compiler},
      {"oneDNN", software.onednn},
      {"gRPC", software.grpc.value_or("none")},
      {"Open MPI", software.open_mpi.value_or("none")},
      {"workload", request.workload},
      {"strategy", request.strategy},
      {"options", options_text(placement)},
      {"processes", std::to_string(placement.processes)},
      {"seed", std::to_string(request.seed)},
      {"dtype", request.dtype},
      {"fusion", request.fusion},
      {"winograd", placement.winograd == UseWinograd::Yes ? "on" : "off"},
      {"CUDA graph", placement.launch == LaunchSteps::AsOne ? "on" : "off"},
      {"cuDNN engine", placement.engines ? to_string(*placement.engines) : "none"},
      {"recipe", recipe_of(placement.recipe)},
      {"data", fmt::format("{} examples of {}, {}", data.count, data.name, data.digest)},
      {"buckets", buckets_of(placed.graph)},
      {"graph",
       fmt::format("{} nodes, {}", placed.graph.nodes().size(), digits(hash(placed.graph)))}};
  if (placement.by_nccl) lines.emplace_back("NCCL", version_of_nccl().value_or("none"));
  return lines;
}

std::string difference(const Fingerprint& here, const Fingerprint& there) {
  const std::string nothing = "nothing";
  std::map<std::string, std::string> other(there.begin(), there.end());
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& ours,
                           const std::string& theirs) {
    if (ours == theirs) return;
    text += fmt::format("{}{} ({} here, {} there)", text.empty() ? "" : ", ", name, ours, theirs);
  };
  for (const auto& [name, value] : here) {
    const auto found = other.extract(name);
    add(name, value, found.empty() ? nothing : found.mapped());
  }
  for (const auto& [name, value] : other) add(name, nothing, value);
  return text;
}

}  // namespace regatta
