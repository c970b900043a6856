// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/dump.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/contender/batches.h"
#include "harness/contender/manifest.h"
#include "harness/contender/reference.h"
#include "harness/plan/capture_rule.h"
#include "harness/plan/device_name.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/system/output_file.h"
#include "kernels/base/error.h"
#include "kernels/graph/text.h"
#include "kernels/runtime/initialize.h"
#include "workloads/data/digest.h"

namespace regatta::contender {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

const char* const kManifest = "manifest.json";    // written first: it marks a dump
const char* const kReference = "reference.json";  // written last: the dump is complete
constexpr std::int64_t kLarge = 1'000'000'000;    // bytes

/// The request as `single` runs it: with the global batch of all workers.
plan::RaceRequest alone(plan::RaceRequest request, const workloads::Workload& workload) {
  if (request.strategy != "single") {
    throw RunError(ErrorKind::Usage,
                   "a dump is the work of `single`, which all strategies share; fix: leave "
                   "--strategy out");
  }
  if (plan::is_gpu(request.device))
    throw RunError(ErrorKind::Usage, "the CPU computes a dump; fix: --device cpu");
  if (!request.global_batch)
    request.global_batch = workloads::default_global_batch(workload, request.workers);
  request.workers = 1;
  return request;
}

/// Makes the folder, or takes an empty one or an earlier dump.
void take_folder(const fs::path& folder) {
  system::create_folder(folder);
  std::ifstream file(folder / kManifest);
  const Json known = Json::parse(file, nullptr, false);
  const bool is_dump = known.is_object() && known.value("format", 0) == kDumpFormat;
  if (!is_dump && !fs::is_empty(folder)) {
    throw RunError(ErrorKind::Usage, folder.string() +
                                         " holds other files than a dump; fix: --out with a new "
                                         "folder");
  }
  fs::remove(folder / kReference);
}

void write_text(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text << '\n' << std::flush;
  if (file) return;
  throw RunError(ErrorKind::Io, "cannot write " + path.string() + ": " + std::strerror(errno));
}

using Tensors = std::vector<std::pair<TensorEntry, std::vector<float>>>;

/// Returns the SHA-256 of all values.
std::string write_tensors(const fs::path& path, const Tensors& tensors) {
  std::vector<TensorEntry> entries;
  for (const auto& [entry, values] : tensors) entries.push_back(entry);
  SafetensorsFile file(path, entries);
  workloads::Digest digest = workloads::Digest::sha256();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    file.add(i, tensors[i].second);
    digest.add(std::as_bytes(std::span(tensors[i].second)));
  }
  file.close();
  return digest.digits();
}

Tensors first_weights(const Graph& graph, std::uint64_t seed) {
  Tensors weights;
  for (VariableId v = 0; v < std::ssize(graph.variables()); ++v) {
    const Variable& variable = graph.variable(v);
    if (variable.kind != VariableKind::Parameter) continue;
    weights.push_back({{variable.name, "F32", variable.type.dims},
                       std::vector<float>(static_cast<std::size_t>(variable.type.elements()))});
    initialize(graph, v, seed, weights.back().second.data());
  }
  return weights;
}

/// Announces a large dump before it is written, and refuses one that the disk cannot hold.
void require_room(const fs::path& folder, std::int64_t bytes, const Tell& tell) {
  const std::string text =
      fmt::format("a dump of {} bytes in {}; fewer --steps need less", bytes, folder.string());
  if (bytes >= kLarge && tell) tell(text);
  const fs::space_info space = fs::space(folder);
  if (space.available >= static_cast<std::uintmax_t>(bytes)) return;
  throw RunError(ErrorKind::Io, fmt::format("{} bytes are free for {}", space.available, text));
}

}  // namespace

void dump(const plan::RaceRequest& given, const std::string& out, const Tell& tell) {
  const workloads::Workload& workload = workloads::find_workload(given.workload);
  const plan::RaceRequest request = alone(given, workload);
  plan::Placement placement = plan::place_without_data(request);
  const fs::path folder = out;
  take_folder(folder);
  const workloads::DataSets data =
      workloads::load_data(workload, plan::dataset_of(request, workload), plan::files_of(request));
  plan::set_data_weights(placement, workloads::data_weights_of(workload, data.train));
  const Step training = workload.training(placement.recipe);
  const Step evaluation =
      workload.evaluation(plan::evaluated_recipe(request, placement.recipe, data.test.count));
  const auto backend = run::make_backend(request.device);
  Batches inputs(training, backend->kernels, data.train, request.seed);
  Batches test(evaluation, backend->kernels, data.test, request.seed);
  const std::int64_t steps = placement.recipe.total_examples / training.global_batch;
  std::int64_t bytes = 0;
  for (const TensorEntry& each : inputs.entries(steps)) bytes += each.bytes();
  require_room(folder, bytes, tell);
  const Manifest manifest = manifest_of(request, placement, training);
  write_text(folder / kManifest, manifest.text.dump(1));
  write_text(folder / "graph.txt", to_text(training.graph));
  Tensors rates;
  for (const auto& [name, values] : manifest.rates)
    rates.push_back({{name, "F32", {steps}}, values});
  write_tensors(folder / "schedule.safetensors", rates);
  Reference reference = reference_of(request, placement, data.train);
  reference.expected.weights =
      write_tensors(folder / "weights.safetensors", first_weights(training.graph, request.seed));
  test.write(folder / "test.safetensors", data.test.count / evaluation.global_batch);
  reference.expected.order = inputs.write(folder / "inputs.safetensors", steps);
  write_text(folder / kReference, to_text(reference));
}

}  // namespace regatta::contender
