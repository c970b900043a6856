// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <algorithm>
#include <numbers>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/names.h"
#include "workloads/airbench94.h"
#include "workloads/data/curve.h"
#include "workloads/data/digest.h"
#include "workloads/data/pairs.h"
#include "workloads/data/shapes.h"
#include "workloads/data/text.h"
#include "workloads/gpt.h"
#include "workloads/mobilenet_v2.h"
#include "workloads/parabola.h"
#include "workloads/resnet9.h"
#include "workloads/shared_options.h"

namespace regatta::workloads {
namespace {

/// `shapes` is one fixed data set for all seeds of runs.
constexpr std::uint64_t kShapesSeed = 20;

/// Adds the digest to a generated data set.
DataSet with_digest(DataSet data) {
  Digest digest;
  digest.add(data.inputs.bytes());
  digest.add(data.targets.bytes());
  data.digest = digest.digits();
  return data;
}

DataSets load_curve(const DataFiles&) {
  return {.train = with_digest(make_curve()), .test = with_digest(make_curve())};
}

constexpr DataSetSizes kShapes{.train = 4096, .test = 1000};
DataSets load_shapes(const DataFiles&) {
  return {.train = with_digest(make_shapes(kShapesSeed, Split::Train, kShapes.train)),
          .test = with_digest(make_shapes(kShapesSeed, Split::Test, kShapes.test))};
}

DataSets load_pairs(const DataFiles& files) {
  const auto [context, vocabulary] = sequences_of(files.options);
  check(context > 0, "a workload that trains on pairs has a context");
  if (vocabulary < kPairsSymbols) {
    throw RunError(ErrorKind::Usage, "pairs has " + std::to_string(kPairsSymbols) +
                                         " symbols, but the vocabulary is " +
                                         std::to_string(vocabulary) + "; fix: use a larger one");
  }
  return {.train = with_digest(make_pairs(Split::Train, kPairs.train, context)),
          .test = with_digest(make_pairs(Split::Test, kPairs.test, context))};
}

DataSets load_text_parts(const DataFiles& files) {
  DataSets data = load_text(files.folder, sequences_of(files.options));
  return {.train = with_digest(std::move(data.train)), .test = with_digest(std::move(data.test))};
}
DataSetSizes sizes_of_text_parts(const DataFiles& files) {
  return sizes_of_text(files.folder, sequences_of(files.options));
}

DataSets load_cifar10_parts(const DataFiles& files) {
  return {.train = load_cifar10(files.folder, Split::Train, files.check),
          .test = load_cifar10(files.folder, Split::Test, files.check)};
}

/// Returns the row of a data set that the workload can use. Throws: RunError(Usage).
const DataSource& source_of(const Workload& workload, const std::string& name) {
  require_usable(workload, name);
  const DataSource* source = find_data_source(name);
  check(source != nullptr, "every data set of a workload is in the table");
  return *source;
}

/// Fills empty fields with the defaults of the data set and the workload.
DataFiles complete(DataFiles files, const DataSource& source, const Workload& workload) {
  if (files.folder.empty()) files.folder = source.folder;
  files.options = chosen_options(workload, files.options.given);
  return files;
}

/// The recipe with a checked value for each of the workload's options.
Recipe completed(const Workload& workload, Recipe recipe) {
  recipe.options = chosen_options(workload, recipe.options.given);
  return recipe;
}

}  // namespace

std::string_view to_string(Metric metric) {
  return metric == Metric::Accuracy ? "accuracy" : "loss";
}

std::string_view to_string(Shows shows) {
  return shows == Shows::Learning ? "learning" : "step_cost";
}

Shows shows_of(std::string_view workload) {
  for (const Workload& each : all_workloads()) {
    if (each.name == workload) return each.shows;
  }
  return Shows::Learning;
}

std::optional<double> Workload::target_on(std::string_view data_set) const {
  for (const auto& [other, value] : other_targets) {
    if (other == data_set) return value;
  }
  return target;
}

bool reaches(Metric metric, double value, double target) {
  return metric == Metric::Accuracy ? value >= target : value <= target;
}

Step Workload::training(const Recipe& of) const { return build_training(completed(*this, of)); }

Step Workload::evaluation(const Recipe& of) const { return build_evaluation(completed(*this, of)); }

ChosenOptions with_defaults(const Workload& workload, const OptionValues& given) {
  ChosenOptions options;
  for (const auto& [option, default_value] : workload.options) {
    const auto found = given.find(option->name);
    options.given.emplace(option->name, found == given.end() ? default_value : found->second);
  }
  return options;
}

ChosenOptions chosen_options(const Workload& workload, const OptionValues& given) {
  OptionOwner owner{.title = "workload '" + std::string(workload.name) + "'", .options = {}};
  for (const WorkloadOption& each : workload.options) owner.options.push_back(each.option);
  check_options(given, owner, all_options(), names_of_declarers);
  return with_defaults(workload, given);
}

std::span<const Option* const> all_options() {
  static const std::vector<const Option*> all = [] {
    std::vector<const Option*> options;
    for (const Workload& workload : all_workloads()) {
      for (const auto& [option, default_value] : workload.options) {
        if (std::find(options.begin(), options.end(), option) == options.end())
          options.push_back(option);
      }
    }
    return options;
  }();
  return all;
}

std::string names_of_declarers(const Option& option) {
  std::vector<std::string_view> names;
  for (const Workload& workload : all_workloads()) {
    const bool declares =
        std::any_of(workload.options.begin(), workload.options.end(),
                    [&](const WorkloadOption& each) { return each.option == &option; });
    if (declares) names.push_back(workload.name);
  }
  return enumerated(names);
}

std::int64_t normalization_group_of(const Recipe& recipe, std::int64_t own) {
  const std::int64_t group = recipe.normalization_group.value_or(own);
  if (recipe.global_batch % group == 0) return group;
  throw RunError(ErrorKind::Usage,
                 "--global-batch is " + std::to_string(recipe.global_batch) +
                     "; this workload normalises over groups of " + std::to_string(group) +
                     " examples" + (recipe.normalization_group ? " (--normalization-group)" : "") +
                     ", so it is a multiple of " + std::to_string(group));
}

void require_no_groups(const Recipe& recipe) {
  if (!recipe.normalization_group) return;
  throw RunError(
      ErrorKind::Usage,
      "--normalization-group: this workload normalises nothing; fix: leave the flag out");
}

std::vector<float> data_weights_of(const Workload& workload, const DataSet& train) {
  return workload.data_weights == nullptr ? std::vector<float>{} : workload.data_weights(train);
}

std::int64_t default_global_batch(const Workload& workload, std::int64_t replicas) {
  return workload.batch_scope == BatchScope::Replica ? replicas * workload.global_batch
                                                     : workload.global_batch;
}

const std::vector<Workload>& all_workloads() {
  static const std::vector<Workload> workloads{
      parabola(),   gpt_tiny(),        resnet9_thin(), gpt_thin(),     gpt_small(),
      airbench94(), airbench94_muon(), resnet9(),      mobilenet_v2(), mobilenet_v2_full()};
  return workloads;
}

const Workload& find_workload(const std::string& name) {
  std::vector<std::string> names;
  for (const Workload& workload : all_workloads()) {
    if (workload.name == name) return workload;
    names.emplace_back(workload.name);
  }
  throw unknown_name("workload", name, names);
}

const std::vector<DataSource>& all_data_sources() {
  static const std::vector<DataSource> sources{
      {.name = "curve",
       .sizes = DataSetSizes{.train = 50, .test = 50},
       .folder = "",
       .load = load_curve},
      {.name = "shapes", .sizes = kShapes, .folder = "", .load = load_shapes},
      {.name = "cifar10",
       .sizes = DataSetSizes{.train = 50'000, .test = 10'000},
       .folder = "cifar-10-batches-bin",
       .load = load_cifar10_parts},
      {.name = "pairs", .sizes = kPairs, .folder = "", .load = load_pairs},
      {.name = "text",
       .sizes = std::nullopt,
       .folder = "shakespeare",
       .load = load_text_parts,
       .sizes_of = sizes_of_text_parts}};
  return sources;
}

const DataSource* find_data_source(std::string_view name) {
  for (const DataSource& source : all_data_sources()) {
    if (source.name == name) return &source;
  }
  return nullptr;
}

std::optional<DataSetSizes> data_set_sizes(std::string_view name) {
  const DataSource* source = find_data_source(name);
  return source == nullptr ? std::nullopt : source->sizes;
}

bool is_made(std::string_view data_set) {
  const DataSource* source = find_data_source(data_set);
  return source == nullptr || source->folder.empty();
}

void require_usable(const Workload& workload, const std::string& data_set) {
  const auto& usable = workload.data_sets;
  if (std::find(usable.begin(), usable.end(), data_set) != usable.end()) return;
  throw unknown_name("dataset for workload '" + std::string(workload.name) + "'", data_set,
                     std::vector<std::string>(usable.begin(), usable.end()));
}

DataSetSizes sizes_of(const Workload& workload, const std::string& name, const DataFiles& files) {
  const DataSource& source = source_of(workload, name);
  return source.sizes ? *source.sizes : source.sizes_of(complete(files, source, workload));
}

DataSets load_data(const Workload& workload, const std::string& name, const DataFiles& files) {
  const DataSource& source = source_of(workload, name);
  if (files.check == DataCheck::Unverified && (is_made(name) || !source.sizes)) {
    throw RunError(ErrorKind::Usage,
                   "--data unverified is for files that their authors published; " + name + " is " +
                       (is_made(name) ? "made by the program" : "your own") +
                       ", leave the flag out");
  }
  return source.load(complete(files, source, workload));
}

Sequences sequences_of(const ChosenOptions& options) {
  if (!options.given.contains(kContext.name)) return {};
  return {.context = options.count(kContext), .vocabulary = options.count(kVocabulary)};
}

std::optional<double> bits_per_byte(const Sequences& sequences, double loss) {
  constexpr std::int64_t kBytes = 256;
  return sequences.vocabulary == kBytes ? std::optional(loss / std::numbers::ln2) : std::nullopt;
}

std::string digest_of(const DataSets& data) {
  Digest both;
  both.add(data.train.digest);
  both.add(data.test.digest);
  return both.digits();
}

}  // namespace regatta::workloads
