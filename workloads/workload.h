// SPDX-License-Identifier: Apache-2.0
//
// Workloads: model, data sets, recipe and target; and the table of all workloads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/graph/data_set.h"
#include "kernels/graph/graph.h"
#include "workloads/data/cifar10.h"

namespace regatta {

/// The parameters of a workload that a run may change. Units: examples.
struct Recipe {
  std::int64_t global_batch = 0;
  std::int64_t train_examples = 0;  ///< in the data set
  std::int64_t total_examples = 0;  ///< of the whole run; schedules end there
  std::int64_t evaluation_batch = 0;
  double rate_scale = 1;                            ///< multiplies the recipe's learning rate
  ElementType element = ElementType::F32;           ///< of activations and weights
  std::optional<std::int64_t> normalization_group;  ///< empty: the workload's
  std::vector<float> data_weights;  ///< initial weights from data_weights_of(); may be absent
};

/// Whether a workload's batch size counts all replicas or each.
enum class BatchScope : std::uint8_t {
  Step,    ///< all replicas together
  Replica  ///< each replica: the global batch grows with their number
};

/// The metric of a run's target.
enum class Metric : std::uint8_t {
  Accuracy,
  Loss
};  ///< in percent, higher is better; lower is better
std::string_view to_string(Metric metric);
/// Whether `value` reaches `target`.
bool reaches(Metric metric, double value, double target);

/// The property in which strategies differ in a race on a workload.
enum class Shows : std::uint8_t {
  Learning,  ///< how soon a model has learnt
  StepCost   ///< the time that a strategy adds to a step; there is almost no computation
};
/// `learning`, `step_cost`
std::string_view to_string(Shows shows);
/// Returns Learning for a workload that this program does not have.
Shows shows_of(std::string_view workload);

struct Workload {
  std::string_view name;
  std::int64_t recipe = 1;  ///< version; a change of the training raises it
  std::string_view tier;
  std::string_view summary;
  Shows shows = Shows::Learning;
  std::vector<std::string_view> data_sets;                 ///< the first is the default
  std::vector<std::string_view> dtypes = {"f32", "bf16"};  ///< of activations and weights
  std::int64_t global_batch = 0;                           ///< with one replica
  BatchScope batch_scope = BatchScope::Step;
  double epochs = 0;                  ///< of the default data set
  std::int64_t evaluation_every = 0;  ///< examples; in whole global batches
  std::int64_t evaluation_batch = 0;
  Metric metric = Metric::Accuracy;
  double target = 0;  ///< justified in the recipe's source file
  /// Computes the initial weights that depend on the data; null if the seed gives all.
  std::vector<float> (*data_weights)(const DataSet& train) = nullptr;
  Step (*training)(const Recipe& recipe) = nullptr;
  Step (*evaluation)(const Recipe& recipe) = nullptr;  ///< losses: the loss, then the number of
                                                       ///< correct examples
};

/// Returns the initial weights that depend on the data; empty if the seed gives all. Throws:
/// RunError(Data).
std::vector<float> data_weights_of(const Workload& workload, const DataSet& train);

/// Number of examples that are normalised together: the recipe's group, or else `own`, the
/// workload's. Throws: RunError(Usage) if the batch is not a multiple of it.
std::int64_t normalization_group_of(const Recipe& recipe, std::int64_t own);
/// Throws: RunError(Usage) if the recipe has normalisation groups; for models without
/// normalisation.
void require_no_groups(const Recipe& recipe);
/// The default number of examples in a step. Units: examples.
std::int64_t default_global_batch(const Workload& workload, std::int64_t replicas);

const std::vector<Workload>& all_workloads();

/// Throws: RunError(Usage) that suggests the nearest valid name.
const Workload& find_workload(const std::string& name);

/// Units: examples.
struct DataSetSizes {
  std::int64_t train = 0;
  std::int64_t test = 0;
};

/// Returns the sizes of a data set without loading it; empty for an unknown name.
std::optional<DataSetSizes> data_set_sizes(std::string_view name);

/// Whether the program generates the data set; others are files.
bool is_made(std::string_view data_set);

/// The two parts of a data set.
struct DataSets {
  DataSet train;
  DataSet test;
};

/// Throws: RunError(Usage) if the workload cannot use the data set.
void require_usable(const Workload& workload, const std::string& data_set);

/// Where data sets that are files are stored.
struct DataFiles {
  std::string folder;
  DataCheck check = DataCheck::Verified;
};

/// Throws: RunError(Usage) as above; RunError(Data) if a file is missing, damaged or unverified.
DataSets load_data(const Workload& workload, const std::string& name, const DataFiles& files);

/// One digest of both parts.
std::string digest_of(const DataSets& data);

}  // namespace regatta
