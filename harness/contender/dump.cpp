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

RunError usage(const std::string& text) { return {ErrorKind::Usage, text}; }

/// The request as `single` runs it: with the global batch of all workers.
plan::RaceRequest alone(plan::RaceRequest request, const workloads::Workload& workload) {
  if (request.strategy != "single") {
    throw usage(
        "a dump is the work of `single`, which every strategy shares; fix: leave "
        "--strategy out");
  }
  if (plan::is_gpu(request.device)) throw usage("a dump is computed by the CPU; fix: --device cpu");
  if (!request.global_batch)
    request.global_batch = workloads::default_global_batch(workload, request.workers);
  request.workers = 1;
  return request;
}

bool is_dump(const fs::path& folder) {
  std::ifstream file(folder / kManifest);
  const Json manifest = Json::parse(file, nullptr, false);
  return manifest.is_object() && manifest.value("format", 0) == kDumpFormat;
}

/// Makes the folder, or takes an empty one or an earlier dump.
void take_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    throw usage(folder.string() + " is no folder; fix: --out with another");
  system::create_folder(folder);
  if (!fs::is_empty(folder) && !is_dump(folder)) {
    throw usage("the folder " + folder.string() +
                " holds other files than a dump; fix: --out with a new folder");
  }
  fs::remove(folder / kReference, error);
}

void write_text(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (file) return;
  throw RunError(ErrorKind::Io, "cannot write " + path.string() + ": " + std::strerror(errno));
}

/// Returns the SHA-256 of all first weights, in the order of the graph.
std::string write_weights(const fs::path& path, const Graph& graph, std::uint64_t seed) {
  std::vector<VariableId> parameters;
  std::vector<TensorEntry> entries;
  for (VariableId v = 0; v < std::ssize(graph.variables()); ++v) {
    const Variable& variable = graph.variable(v);
    if (variable.kind != VariableKind::Parameter) continue;
    parameters.push_back(v);
    entries.push_back({variable.name, "F32", variable.type.dims});
  }
  SafetensorsFile file(path, entries);
  workloads::Digest digest = workloads::Digest::sha256();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const TensorType& type = graph.variable(parameters[i]).type;
    std::vector<float> values(static_cast<std::size_t>(type.elements()));
    initialize(graph, parameters[i], seed, values.data());
    file.add(i, values);
    digest.add(std::as_bytes(std::span(values)));
  }
  file.close();
  return digest.digits();
}

void write_rates(const fs::path& path, const Rates& rates) {
  std::vector<TensorEntry> entries;
  for (const auto& [name, values] : rates) entries.push_back({name, "F32", {std::ssize(values)}});
  SafetensorsFile file(path, entries);
  for (std::size_t i = 0; i < rates.size(); ++i) file.add(i, rates[i].second);
  file.close();
}

std::string text_of(const Reference& reference) {
  const Proof& proof = reference.expected;
  const Bounds& bounds = reference.bounds;
  const Json json = {{"weights", proof.weights},
                     {"order", proof.order},
                     {"gradient_norm", proof.gradient_norm},
                     {"losses", proof.losses},
                     {"parameter_norm", proof.parameter_norm},
                     {"bounds",
                      {{"gradient_norm", bounds.gradient_norm},
                       {"losses", bounds.losses},
                       {"parameter_norm", bounds.parameter_norm}}}};
  return json.dump(1) + '\n';
}

/// Tells of many bytes before they are written, and refuses those that the disk cannot hold.
void require_room(const fs::path& folder, std::int64_t bytes,
                  const std::function<void(const std::string&)>& tell) {
  if (bytes >= kLarge && tell)
    tell(fmt::format("a dump of {} bytes goes to {}; fewer --steps need less", bytes,
                     folder.string()));
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= static_cast<std::uintmax_t>(bytes)) return;
  throw RunError(ErrorKind::Io,
                 fmt::format("a dump of {} bytes does not fit into {}, where {} are free; fix: "
                             "fewer --steps, or --out on another disk",
                             bytes, folder.string(), space.available));
}

}  // namespace

void dump(const plan::RaceRequest& given, const std::string& out,
          const std::function<void(const std::string&)>& tell) {
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
  const std::int64_t tests = data.test.count / evaluation.global_batch;
  require_room(folder, bytes_of(inputs.entries(steps)) + bytes_of(test.entries(tests)), tell);
  const Described described = describe(request, placement, training, steps);
  write_text(folder / kManifest, described.manifest.dump(1) + '\n');
  write_text(folder / "graph.txt", to_text(training.graph));
  write_rates(folder / "schedule.safetensors", described.rates);
  Reference reference = reference_of(request, placement, data.train);
  reference.expected.weights =
      write_weights(folder / "weights.safetensors", training.graph, request.seed);
  test.write(folder / "test.safetensors", tests);
  reference.expected.order = inputs.write(folder / "inputs.safetensors", steps);
  write_text(folder / kReference, text_of(reference));
}

}  // namespace regatta::contender
