// SPDX-License-Identifier: Apache-2.0
//
// The cell of a record: the only declaration of its fields. The record and its schema, the cell's
// name and keys (judge/cell_identity.h), the facts on which ranks agree (plan/fingerprint.h), the
// runs that a matrix does not repeat and the labels of figures follow from for_each_field(Cell).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/about.h"
#include "kernels/base/fields.h"
#include "kernels/base/option.h"

namespace regatta::record {

/// A worker slowed down on purpose.
struct Straggler {
  std::int64_t worker = 0;
  double factor = 1;
};

template <FieldsOf<Straggler> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("worker", part.worker, About{.text = "Number of the worker."});
  field("factor", part.factor,
        About{.text = "Factor on its compute time.", .unit = "none", .least = 1});
}

/// Another program that trained in this one's place (--program).
struct ProgramCell {
  std::string name;
  std::string digest;
  std::optional<std::string> strategy;
};

template <FieldsOf<ProgramCell> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("name", part.name, About{.text = "Name of the program (--program-name)."});
  field("digest", part.digest,
        About{.text = "Digest of its command, before seed and workers are put in.",
              .pattern = "^[0-9a-f]{16}$"});
  field("strategy", part.strategy,
        About{.text = "The program's own strategy (--strategy); null if none was given."});
}

/// The configuration of a run: one cell of the matrix, with its seed.
struct Cell {
  std::string workload;
  std::int64_t recipe = 1;
  std::string dataset;
  std::optional<std::string> unverified_data;
  std::string strategy;
  std::optional<ProgramCell> program;
  OptionValues options;
  std::int64_t workers = 1;
  std::int64_t stages = 1;
  std::string device = "cpu";
  std::optional<std::string> cuda_graph;
  std::optional<std::string> cudnn_engine;
  std::string dtype = "f32";
  std::string fusion = "on";
  std::string winograd = "off";
  std::int64_t global_batch = 0;
  std::optional<std::int64_t> normalization_group;
  double rate_scale = 1;
  std::optional<std::int64_t> steps;
  std::optional<double> epochs;
  std::string evaluate = "often";
  std::int64_t processes = 1;
  std::int64_t threads_per_worker = 1;
  bool oversubscribed = false;
  std::optional<std::int64_t> gpus;
  bool shared_gpu = false;
  std::vector<Straggler> straggler;
  std::uint64_t seed = 0;
};

/// The groups of flags in the help.
namespace flag_group {
inline constexpr const char* kCell = "What races";
inline constexpr const char* kLength = "Length and target";
inline constexpr const char* kData = "Data";
inline constexpr const char* kCompute = "What computes, and how";
}  // namespace flag_group

/// The flag that sets a field as it is: `--rate-scale` for `rate_scale`. Fields that a run
/// completes or derives have none, or one in plan/race_flags.cpp.
struct CellFlag {
  const char* group = nullptr;  ///< null: no flag
  const char* help = "";
  enum class Of { AllGraphs, Runs } of = Of::AllGraphs;  ///< Runs: not of `regatta graph`
};

/// The part of a field in the cell's identity.
struct CellPart {
  enum class Role {
    Setting,     ///< compared runs share it, for example the dtype
    Contestant,  ///< compared runs may differ in it, because they race: strategy, workers, ...
    Resource,    ///< follows from the other fields and the machine
    Seed,        ///< runs of one cell differ in it
  } role = Role::Setting;
  enum class Reach {
    Cell,
    Workload,  ///< runs whose times are compared share it, too, whatever its role is
  } reach = Reach::Cell;
  enum class Ranks {
    Agree,  ///< all processes of a run have the same value before the first step
    Differ,
  } ranks = Ranks::Agree;
  /// The words of a label that go with the value: `fusion`, or `process|processes` behind a count.
  std::string_view label = "";
  CellFlag flag = {};
};

template <FieldsOf<Cell> T, typename Field>
void for_each_field(T& part, Field&& field) {
  constexpr auto kContestant = CellPart::Role::Contestant;
  constexpr auto kWorkload = CellPart::Reach::Workload;
  constexpr auto kRuns = CellFlag::Of::Runs;
  constexpr CellPart kResource{.role = CellPart::Role::Resource, .ranks = CellPart::Ranks::Differ};
  field("workload", part.workload, About{.text = "Name of the model and recipe that are trained."},
        CellPart{.reach = kWorkload,
                 .flag = {.group = flag_group::kCell,
                          .help = "what to train (regatta list workloads)"}});
  field("recipe", part.recipe,
        About{.text = "Number of the workload's recipe, which grows when runs no longer train as "
                      "before. 1 in records of version 1. (resnet9, resnet9_thin: 2 since their "
                      "first update has the rate after one batch, as in the source; it had the "
                      "rate 0.)",
              .since = 2,
              .least = 1},
        CellPart{.reach = kWorkload});
  field("dataset", part.dataset,
        About{.text = "Name of the data trained on and evaluated on; empty for a program's own "
                      "task.",
              .pattern = ""},
        CellPart{.reach = kWorkload,
                 .flag = {.group = flag_group::kData,
                          .help = "cifar10, shapes, ... (default: the workload's)",
                          .of = kRuns}});
  field("unverified_data", part.unverified_data,
        About{.text = "Digest of files that no published one verifies: a text, or those that "
                      "--data unverified accepts; null for other data.",
              .since = 2,
              .pattern = "^[0-9a-f]{32}$"},
        CellPart{.reach = kWorkload, .ranks = CellPart::Ranks::Differ});
  field(
      "strategy", part.strategy,
      About{.text = "Name of the strategy, or a composition such as all_reduce+model_parallel; of "
                    "another program its name and its strategy's, such as pytorch all_reduce."},
      CellPart{
          .role = kContestant,
          .flag = {
              .group = flag_group::kCell,
              .help =
                  "how to train it in parallel (regatta list strategies); a+b applies a, then b"}});
  field("program", part.program,
        About{.text = "The other program that trained (--program); null for Regatta's own runs.",
              .since = 16},
        CellPart{.role = kContestant});
  field("options", part.options,
        About{.text = "The options of the strategy and of the workload by name (regatta list), "
                      "with the value given or the default; options without a value are left out.",
              .since = 2},
        CellPart{.role = kContestant});
  field("workers", part.workers, About{.text = "The value of --workers.", .least = 1},
        CellPart{.role = kContestant,
                 .flag = {.group = flag_group::kCell,
                          .help = "replicas, or stages of model_parallel, or shards of "
                                  "tensor_parallel or context_parallel, or the replicas of a "
                                  "composition times these"}});
  field(
      "stages", part.stages,
      About{.text = "Number of parts into which the model is cut, stages times shards; 1 if it is "
                    "whole. options.shards has the number of shards in a composition.",
            .least = 1},
      CellPart{.role = kContestant, .label = "part|parts"});
  field("device", part.device, About{.text = "Kind of device that computes.", .values = "cpu|cuda"},
        CellPart{.flag = {.group = flag_group::kCompute,
                          .help = "what computes: cpu, or cuda (an NVIDIA GPU)"}});
  field("cuda_graph", part.cuda_graph,
        About{.text = "Whether each step is launched as one CUDA graph, so that all of a step "
                      "counts as compute; null on CPUs.",
              .since = 2,
              .values = "on|off"},
        CellPart{.label = "CUDA graph"});
  field("cudnn_engine", part.cudnn_engine,
        About{.text = "Rule that chose cuDNN's engine for each convolution: trials before the "
                      "clock started, or the first of the library's heuristics that runs; null on "
                      "CPUs. The engines are in `kernels`.",
              .since = 2,
              .values = "timed|heuristic"},
        CellPart{.label = "cuDNN engine"});
  field("dtype", part.dtype,
        About{.text = "Element type of activations and weights.", .values = "f32|bf16"},
        CellPart{.flag = {.group = flag_group::kCompute,
                          .help = "element type of activations and weights: f32 or bf16"}});
  field("fusion", part.fusion,
        About{.text = "Whether normalisation, activation, pooling and add are one op where they "
                      "can be.",
              .since = 2,
              .values = "on|off"},
        CellPart{.label = "fusion",
                 .flag = {.group = flag_group::kCompute,
                          .help = "normalise, activate, pool and add in one op each: on or off"}});
  field("winograd", part.winograd,
        About{.text = "Whether convolutions that are wide enough are computed by Winograd's "
                      "algorithm F(4 x 4, 3 x 3); off if there are none.",
              .since = 2,
              .values = "on|off"},
        CellPart{.label = "Winograd"});
  field("global_batch", part.global_batch,
        About{.text = "Number of examples in a step over all workers together; 0 for a program's "
                      "own task.",
              .unit = "examples"},
        CellPart{});
  field("normalization_group", part.normalization_group,
        About{.text = "Number of examples that are normalised together; null for the workload's "
                      "own number.",
              .unit = "examples",
              .since = 2,
              .least = 1},
        CellPart{.label = "normalisation group",
                 .flag = {.group = flag_group::kLength,
                          .help = "examples that are normalised together (default: the workload's)",
                          .of = kRuns}});
  field("rate_scale", part.rate_scale,
        About{.text = "Factor on the recipe's learning rate.", .above = 0},
        CellPart{.label = "rate scale",
                 .flag = {.group = flag_group::kLength,
                          .help = "multiplies the recipe's learning rate",
                          .of = kRuns}});
  field(
      "steps", part.steps,
      About{
          .text = "Length of the run if it was given in steps; else null.", .since = 2, .least = 1},
      CellPart{
          .reach = kWorkload,
          .flag = {.group = flag_group::kLength,
                   .help = "length of the run in steps, instead of --epochs (default: --epochs)"}});
  field("epochs", part.epochs,
        About{.text = "Length of the run if it was given in epochs; else null. Without both it is "
                      "the workload's.",
              .since = 2,
              .above = 0},
        CellPart{.reach = kWorkload,
                 .flag = {.group = flag_group::kLength,
                          .help = "passes over the data (default: the workload's)"}});
  field("evaluate", part.evaluate,
        About{.text = "When the run was evaluated beside once before training: often, after equal "
                      "numbers of examples, or only at the end, so that it reached its target "
                      "there or not at all. Often in records of versions 1 and 2.",
              .since = 3,
              .values = "often|end"},
        CellPart{.reach = kWorkload,
                 .label = "evaluated",
                 .flag = {.group = flag_group::kLength,
                          .help = "before the first step and then often, after equal numbers of "
                                  "examples, or only at the end of the run: often or end"}});
  field("processes", part.processes, About{.text = "Number of processes.", .least = 1},
        CellPart{.role = kContestant, .label = "process|processes"});
  field("threads_per_worker", part.threads_per_worker,
        About{.text = "Number of compute threads of each worker; if hosts differ, the smallest.",
              .least = 1},
        kResource);
  field("oversubscribed", part.oversubscribed,
        About{.text = "Whether a host has more compute threads than cores, or CPU limit, to run "
                      "them on."},
        kResource);
  field("gpus", part.gpus,
        About{.text = "Number of GPUs that workers use; null on CPUs.", .since = 2}, kResource);
  field("shared_gpu", part.shared_gpu,
        About{.text = "Whether several workers share a GPU, so that speeds do not show how a "
                      "strategy scales.",
              .since = 2},
        kResource);
  field("straggler", part.straggler,
        About{.text = "Workers slowed down on purpose.", .each = "One of them."},
        CellPart{.role = kContestant, .reach = kWorkload, .label = "straggler"});
  field("seed", part.seed,
        About{.text = "Seed of initial weights, order of examples and augmentation."},
        CellPart{.role = CellPart::Role::Seed,
                 .flag = {.group = flag_group::kCell,
                          .help = "of weights, order and augmentation",
                          .of = kRuns}});
}

/// A field of a cell with its value as text: `ring`, `1:2.5`, `none`.
struct CellText {
  std::string name;
  std::string text;
  CellPart part;
};

/// Lists all fields of a cell in the order of the record; options as `bucket_bytes=4096, ...`.
std::vector<CellText> texts_of(const Cell& cell);

/// Formats stragglers in the syntax of --straggler: `1:2.5,2:3`.
std::string straggler_text(const std::vector<Straggler>& stragglers);

}  // namespace regatta::record
