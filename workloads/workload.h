// SPDX-License-Identifier: Apache-2.0
//
// The table of all workloads. A workload is a model with its data sets, its training recipe and its
// target.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/option.h"
#include "kernels/data/data_set.h"
#include "kernels/graph/graph.h"
#include "workloads/data/cifar10.h"
#include "workloads/data/sequences.h"
#include "workloads/data/split.h"

namespace regatta::workloads {

/// The parameters of a workload that a run may change. Units: examples.
struct Recipe {
  std::int64_t global_batch = 0;
  std::int64_t train_examples = 0;  ///< number of training examples in the data set
  std::int64_t total_examples = 0;  ///< number of examples in the whole run; schedules end there
  std::int64_t evaluation_batch = 0;
  double rate_scale = 1;                            ///< multiplies the recipe's learning rate
  ElementType element = ElementType::F32;           ///< element type of activations and weights
  std::optional<std::int64_t> normalization_group;  ///< empty: the workload's own
  std::vector<float> data_weights;                  ///< result of data_weights_of(); may be empty
  ChosenOptions options = {};  ///< values of the workload's options; a strategy's are ignored
};

/// An option that a workload declares. Several workloads may declare the same one with different
/// defaults; the option's own default is not used.
struct WorkloadOption {
  const Option* option = nullptr;
  OptionValue default_value = {};
};

/// Whether a workload's batch size is that of all replicas together or of each replica.
enum class BatchScope : std::uint8_t {
  Step,    ///< the examples of all replicas in a step
  Replica  ///< the examples of each replica: the global batch grows with the number of replicas
};

/// The metric of a run's target.
enum class Metric : std::uint8_t {
  Accuracy,
  Loss
};  ///< Accuracy: in percent, higher is better. Loss: lower is better
std::string_view to_string(Metric metric);
/// Whether `value` is at least as good as `target`.
bool reaches(Metric metric, double value, double target);

/// The property of strategies that a race on this workload compares.
enum class Shows : std::uint8_t {
  Learning,  ///< how soon the model reaches its target
  StepCost   ///< the time that a strategy adds to a step; there is almost no computation
};
/// Returns `learning` or `step_cost`.
std::string_view to_string(Shows shows);
/// Returns Workload::shows of the workload with this name; Learning if there is none.
Shows shows_of(std::string_view workload);

struct Workload {
  std::string_view name;
  std::int64_t recipe = 1;  ///< version of the training; raised when the training changes
  std::string_view tier;
  std::string_view summary;
  Shows shows = Shows::Learning;
  std::vector<std::string_view> data_sets;  ///< the first is the default
  /// Element types of activations and weights that a run may choose.
  std::vector<std::string_view> dtypes = {"f32", "bf16"};
  /// Default size of the global batch with one replica. Units: examples.
  std::int64_t global_batch = 0;
  BatchScope batch_scope = BatchScope::Step;
  double epochs = 0;       ///< default length of a run
  std::int64_t steps = 0;  ///< default length at the default batch on any data set; 0: `epochs`
  /// Examples between two evaluations, rounded to whole global batches.
  std::int64_t evaluation_every = 0;
  std::int64_t evaluation_batch = 0;
  Metric metric = Metric::Accuracy;
  double target = 0;  ///< justified in the recipe's source file
  /// Targets on data sets where they differ; empty: none was measured.
  std::vector<std::pair<std::string_view, std::optional<double>>> other_targets = {};
  /// Computes the initial weights that depend on the data; null if all depend on the seed only.
  std::vector<float> (*data_weights)(const DataSet& train) = nullptr;
  std::vector<WorkloadOption> options = {};
  /// Builders of the two steps. The recipe has a value for each of the workload's options.
  Step (*build_training)(const Recipe& recipe) = nullptr;
  Step (*build_evaluation)(const Recipe& recipe) = nullptr;

  /// Returns the target on a data set; empty if none was measured there.
  std::optional<double> target_on(std::string_view data_set) const;
  /// Returns the training step. Throws: RunError(Usage) for an impossible recipe.
  Step training(const Recipe& of) const;
  /// Returns the evaluation step. Its Step::losses are the loss and, for Metric::Accuracy, the
  /// number of correct examples.
  Step evaluation(const Recipe& of) const;
};

/// Returns the values of the workload's options: those given, and its defaults. Checks nothing.
ChosenOptions with_defaults(const Workload& workload, const OptionValues& given);
/// Returns with_defaults() of checked values. Throws: RunError(Usage) for an invalid value, and for
/// an option of other workloads; the message lists these, and the workload's own options.
ChosenOptions chosen_options(const Workload& workload, const OptionValues& given);

/// Returns the options of all workloads, each once, in the order of the table.
std::span<const Option* const> all_options();
/// Returns the names of the workloads that declare `option`, such as `resnet9_thin and resnet9`.
std::string names_of_declarers(const Option& option);

/// Returns the workload's initial weights that depend on the data; empty if all depend on the seed
/// only. Throws: RunError(Data).
std::vector<float> data_weights_of(const Workload& workload, const DataSet& train);

/// Returns the number of examples that are normalised together: the recipe's normalization_group if
/// it is set, otherwise `own`, the workload's default. Throws: RunError(Usage) if the batch is not
/// a multiple of that number.
std::int64_t normalization_group_of(const Recipe& recipe, std::int64_t own);
/// Checks the recipe of a model without normalisation. Throws: RunError(Usage) if it has a
/// normalization_group.
void require_no_groups(const Recipe& recipe);
/// Returns the default size of the global batch with `replicas` replicas. Units: examples.
std::int64_t default_global_batch(const Workload& workload, std::int64_t replicas);

const std::vector<Workload>& all_workloads();

/// Returns the workload with this name. Throws: RunError(Usage) if there is none; the message
/// suggests the nearest valid name.
const Workload& find_workload(const std::string& name);

/// The folder of a data set's files, the treatment of unverified files, and the options of the
/// workload that the data may depend on.
struct DataFiles {
  std::string folder;  ///< empty: DataSource::folder
  DataCheck check = DataCheck::Verified;
  ChosenOptions options = {};
};

/// A row of the table of data sets.
struct DataSource {
  std::string_view name;
  std::optional<DataSetSizes> sizes;  ///< empty: sizes_of() computes them from the user's files
  std::string_view folder;  ///< default folder of its files; empty: the program generates it
  /// Loads both parts. `files` has a value for each of the workload's options.
  DataSets (*load)(const DataFiles& files) = nullptr;
  DataSetSizes (*sizes_of)(const DataFiles& files) = nullptr;
};
const std::vector<DataSource>& all_data_sources();

/// Returns the row of this name; null if there is none.
const DataSource* find_data_source(std::string_view name);

/// Returns the sizes of a data set; empty if its files decide them, and for an unknown name.
std::optional<DataSetSizes> data_set_sizes(std::string_view name);

/// Returns the sizes of the data set that load_data() returns, without loading it. Throws:
/// RunError(Usage) if the workload cannot use it; RunError(Data) if its files decide the sizes, and
/// one is missing or damaged.
DataSetSizes sizes_of(const Workload& workload, const std::string& name, const DataFiles& files);

/// Whether the program generates the data set; other data sets are read from files.
bool is_made(std::string_view data_set);

/// Checks that the workload can use the data set. Throws: RunError(Usage) if it cannot.
void require_usable(const Workload& workload, const std::string& data_set);

/// Returns the data set `name`, generated or read from files. Throws: RunError(Usage) if the
/// workload cannot use it, as chosen_options(), or if no digest of it is published and
/// `files.check` is Unverified; RunError(Data) if a file is missing, damaged or, unless allowed,
/// unverified.
DataSets load_data(const Workload& workload, const std::string& name, const DataFiles& files);

/// Returns the sequences that a workload with these values of all its options reads.
Sequences sequences_of(const ChosenOptions& options);
/// Returns a mean loss per token, in nats, as bits per byte; empty unless the vocabulary is 256,
/// that of bytes.
std::optional<double> bits_per_byte(const Sequences& sequences, double loss);

/// Returns one digest, computed from the digests of both parts.
std::string digest_of(const DataSets& data);

}  // namespace regatta::workloads
