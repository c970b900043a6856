// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/fingerprint.h"

#include <fmt/format.h>

#include <map>

#include "harness/plan/cell.h"
#include "kernels/base/random.h"
#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/text.h"

namespace regatta::plan {
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

}  // namespace

Fingerprint fingerprint_of(const RaceRequest& request, const Placement& placement,
                           const Step& placed, const DataSet& data,
                           const system::SoftwareFacts& software) {
  Fingerprint lines = {{"protocol", kProtocolVersion},
                       {"regatta", software.git_commit + (software.dirty ? ", changed" : "")},
                       {"compiler", software.compiler},
                       {"oneDNN", software.onednn},
                       {"gRPC", software.grpc.value_or("none")},
                       {"Open MPI", software.open_mpi.value_or("none")}};
  for (const record::CellText& each :
       record::texts_of(cell_of(request, placement, {.dataset = data.name}))) {
    if (each.part.ranks == record::CellPart::Ranks::Agree) lines.emplace_back(each.name, each.text);
  }
  lines.emplace_back("data",
                     fmt::format("{} examples of {}, {}", data.count, data.name, data.digest));
  lines.emplace_back("buckets", buckets_of(placed.graph));
  lines.emplace_back("graph", fmt::format("{} nodes, {}", placed.graph.nodes().size(),
                                          digits(hash(placed.graph))));
  if (placement.by_nccl) lines.emplace_back("NCCL", comm::version_of_nccl().value_or("none"));
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

}  // namespace regatta::plan
