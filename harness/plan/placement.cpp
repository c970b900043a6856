// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/plan/capture_rule.h"
#include "harness/plan/degrees.h"
#include "harness/plan/device_name.h"
#include "harness/plan/gpu_rule.h"
#include "harness/plan/layout.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/winograd_rule.h"
#include "kernels/base/error.h"
#include "kernels/base/names.h"
#include "kernels/comm/nccl/nccl_settings.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"

namespace regatta::plan {
namespace {

constexpr std::int64_t kMostSteps = 100'000'000;  // the harness keeps 12 bytes of each
constexpr double kMostSlowdown = 1000;
constexpr std::int64_t kMostProcesses = std::numeric_limits<int>::max();

RunError usage(const std::string& text) { return {ErrorKind::Usage, text}; }

void check_name(const std::string& what, const std::string& given,
                const std::vector<std::string>& valid) {
  if (std::find(valid.begin(), valid.end(), given) == valid.end()) {
    throw unknown_name(what, given, valid);
  }
}

double target_of(const RaceRequest& request, const workloads::Workload& workload) {
  if (request.target && !std::isfinite(*request.target)) throw usage("--target is a finite number");
  const std::string data_set = dataset_of(request, workload);
  const std::optional<double> usual = workload.target_on(data_set);
  if (request.target || usual) return request.target ? *request.target : *usual;
  throw usage(fmt::format("no target of {} was measured on data set '{}'; fix: give --target",
                          workload.name, data_set));
}

void set_length(const RaceRequest& request, std::int64_t train_examples, Placement& placement) {
  const workloads::Workload& workload = *placement.workload;
  workloads::Recipe& recipe = placement.recipe;
  recipe.train_examples = train_examples;
  recipe.evaluation_batch = workload.evaluation_batch;
  recipe.rate_scale = request.rate_scale;
  recipe.normalization_group = request.normalization_group;
  recipe.element = request.dtype == "bf16" ? ElementType::BF16 : ElementType::F32;
  recipe.global_batch = request.global_batch.value_or(
      workloads::default_global_batch(workload, placement.options.replicas));
  if (recipe.global_batch < 1 || recipe.global_batch > train_examples) {
    throw usage("--global-batch is " + std::to_string(recipe.global_batch) + "; the data set has " +
                std::to_string(train_examples) + " examples, so 1 to that many are possible");
  }
  if (request.epochs && request.steps) throw usage("give --epochs or --steps, not both");
  const std::int64_t steps_per_epoch = train_examples / recipe.global_batch;
  double wanted = 0;
  if (request.steps) {
    wanted = static_cast<double>(*request.steps);
  } else if (!request.epochs && workload.steps > 0) {
    wanted = std::ceil(static_cast<double>(workload.steps * workload.global_batch) /
                       static_cast<double>(recipe.global_batch));
  } else {
    wanted =
        std::ceil(request.epochs.value_or(workload.epochs) * static_cast<double>(steps_per_epoch));
  }
  if (wanted > static_cast<double>(kMostSteps)) {
    throw usage("a run has at most " + std::to_string(kMostSteps) +
                " steps; --steps or --epochs is too large");
  }
  recipe.total_examples = static_cast<std::int64_t>(wanted) * recipe.global_batch;
}

/// Throws if a step draws more examples than the data set has: with backup workers more examples
/// are drawn than count. They are drawn in whole normalisation groups.
void check_drawn(const Placement& placement, std::int64_t group) {
  const std::int64_t backups = backup_workers_of(placement);
  if (backups == 0) return;
  const workloads::Recipe& recipe = placement.recipe;
  const std::int64_t replicas = placement.options.replicas;
  const auto groups = strategies::dealt_groups(recipe.global_batch / group, replicas, backups);
  const std::int64_t drawn = group * std::accumulate(groups.begin(), groups.end(), std::int64_t{0});
  if (drawn <= recipe.train_examples) return;
  throw usage(fmt::format(
      "{} workers and {} backup workers draw {} examples for a step with a global batch of {}, but "
      "the data set has {}; fix: use a smaller --global-batch",
      replicas, backups, drawn, recipe.global_batch, recipe.train_examples));
}

/// True if the run can lose a worker: servers do not wait for every one of their workers.
bool goes_on_after_a_loss(const Placement& placement) {
  if (placement.facts.servers == 0) return false;
  return placement.facts.has_quorum ||
         strategies::exchange_of(placement.strategies) == strategies::Exchange::Asynchronous;
}

void check_algorithm(const RaceRequest& request, const Placement& placement) {
  const std::string algorithm = placement.options.choice(strategies::kAlgorithm);
  if (algorithm == kMpi && request.processes.value_or(1) <= 1) {
    throw usage("--all-reduce mpi works between processes; fix: give --processes 2 or more");
  }
  if (algorithm == kNccl && !is_gpu(request.device)) {
    throw usage("--all-reduce nccl works between GPUs; fix: give --device cuda");
  }
}

/// Throws: RunError(Usage) for a sum by MPI whose members are all in one process.
void check_sums_by_mpi(const std::vector<Step>& parts) {
  for (const Step& part : parts) {
    for (const Node& node : part.graph.nodes()) {
      if (node.op != Op::AllReduce || node.attributes.text("algorithm") != kMpi) continue;
      if (node.attributes.has("processes") || !node.attributes.has("between")) continue;
      throw usage(
          "--all-reduce mpi works between processes, and one has all members of a sum "
          "between " +
          node.attributes.text("between") +
          "; fix: give as many --processes as --workers, or another --all-reduce");
    }
  }
}

bool is_loopback(const std::string& address) {
  return address.rfind("127.", 0) == 0 || address == "localhost" || address == "[::1]";
}

void check_hosts(const RaceRequest& request) {
  if (request.hosts.empty()) return;
  if (request.listen.empty()) {
    throw usage("--hosts needs --listen: the address of this machine that the others reach");
  }
  if (is_loopback(request.listen)) {
    throw usage("--listen " + request.listen +
                " is this machine's loopback, which cannot be reached from other hosts");
  }
}

void deal_processes(const RaceRequest& request, Placement& placement) {
  check_hosts(request);
  if (request.on_loss == OnLoss::Continue && !goes_on_after_a_loss(placement)) {
    throw usage(
        "--continue-on-loss is for servers that do without a worker: those of "
        "parameter_server_async, and of parameter_server with --backup-workers");
  }
  const bool has_servers = placement.facts.servers > 0;
  const std::int64_t replicas = placement.facts.replicas;
  const std::int64_t processes = request.processes.value_or(has_servers ? replicas : 1);
  if (processes < 1) {
    throw usage(fmt::format("--processes is {}; at least 1 is needed", processes));
  }
  if (processes > 1 && placement.facts.shares_memory) {
    throw usage("strategy '" + request.strategy +
                "' keeps its parameters in memory that all workers share, so it runs in one "
                "process; fix: leave --processes out, or use parameter servers");
  }
  if (processes > 1 && placement.facts.shares_variables && placement.on_gpus) {
    throw usage("strategy '" + request.strategy +
                "' averages between processes on CPUs only; fix: leave --processes out, or give "
                "--device cpu");
  }
  placement.worker_processes = static_cast<int>(std::min<std::int64_t>(processes, kMostProcesses));
  placement.stages_per_process = placement.options.count_if_any(strategies::kStagesPerProcess);
  check_deal(placement);
  if (has_servers && (processes > 1 || !request.processes)) {
    placement.servers = static_cast<int>(placement.facts.servers);
  }
  placement.processes = placement.servers + placement.worker_processes;
  if (placement.processes > 1) return;
  if (!request.hosts.empty() || !request.listen.empty() || !request.tls.empty()) {
    throw usage(
        "--hosts, --listen and --tls are for runs over processes; this one has one; fix: "
        "give --processes 2 or more");
  }
  if (request.on_loss == OnLoss::Continue) {
    throw usage(
        "--continue-on-loss: with one process there is none to lose; fix: give --processes 2 or "
        "more");
  }
}

void check_checkpoints(const RaceRequest& request) {
  if (!request.checkpoint_every && request.resume.empty()) return;
  if (request.checkpoint_every.value_or(1) < 1) {
    throw usage(fmt::format("--checkpoint-every is {}; at least 1 step is needed",
                            *request.checkpoint_every));
  }
  if (request.on_loss == OnLoss::Continue) {
    throw usage(
        "--continue-on-loss excludes --checkpoint-every and --resume: no file has what a lost "
        "worker would have come to");
  }
}

void check_trace(const RaceRequest& request) {
  if (request.if_there == system::IfThere::Refuse || !request.trace.empty()) return;
  throw usage("--overwrite replaces the file of --trace, and this run has none; fix: leave it out");
}

void check_stragglers(const RaceRequest& request, std::int64_t backups) {
  for (const auto& [worker, factor] : request.stragglers) {
    const std::int64_t workers = request.workers + backups;
    if (worker >= 0 && worker < workers && factor >= 1 && factor <= kMostSlowdown) continue;
    throw usage(fmt::format("--straggler {}:{:g}: workers are 0 to {} and factors 1 to {:g}",
                            worker, factor, workers - 1, kMostSlowdown));
  }
}

/// The passes' input, as far as the placement is planned.
strategies::PassInput input_of(const Placement& placement) {
  strategies::PassInput input;
  input.build = [&placement] { return placement.workload->training(placement.recipe); };
  input.fuse = placement.fuse_steps == FuseSteps::Yes;
  input.strategies = placement.strategies;
  input.options = placement.options;
  input.winograd = placement.winograd == UseWinograd::Yes;
  input.binding = binding_of(placement);
  return input;
}

}  // namespace

Placement place(const RaceRequest& request, std::int64_t train_examples,
                const strategies::PassWatch& watch, BuildPlaces build) {
  Placement placement;
  placement.workload = &workloads::find_workload(request.workload);
  placement.strategies = strategies::find_strategies(request.strategy);
  check_name("dtype", request.dtype, {"f32", "bf16"});
  const auto& dtypes = placement.workload->dtypes;
  check_name("dtype for workload '" + request.workload + "'", request.dtype,
             {dtypes.begin(), dtypes.end()});
  check_name("fusion", request.fusion, {"on", "off"});
  check_name("winograd", request.winograd, {"auto", "on", "off"});
  check_name("data", request.data, {"verified", "unverified"});
  check_name("device", request.device, {kDeviceNames.begin(), kDeviceNames.end()});
  check_name("cuda_graph", request.cuda_graph, {"auto", "on", "off"});
  check_name("evaluate", request.evaluate, {"often", "end"});
  strategies::check_options(request.strategy, request.options);
  placement.recipe.options = workloads::chosen_options(*placement.workload, request.options);
  placement.options.given = request.options;
  check_algorithm(request, placement);
  deal_workers(request, placement);
  placement.fuse_steps = request.fusion == "on" ? FuseSteps::Yes : FuseSteps::No;
  set_length(request, train_examples, placement);
  auto placed = std::make_shared<PlacedStep>();
  const auto run = [&](std::string_view first, std::string_view last) {
    return strategies::run_passes(
        first, last, placed->step, input_of(placement),
        [&](const strategies::StepPass& pass, std::int64_t ns, std::span<const Step> steps) {
          placed->build_ns += ns;
          if (watch) watch(pass, ns, steps);
        });
  };
  placed->step = std::move(run("build", "build").front());
  if (build == BuildPlaces::OneOfAlike) {
    placement.options.alike =
        strategies::alike_workers(placement.strategies, placement.options, placed->step);
  }
  placement.model_flops = model_flops(placed->step.graph);
  placement.winograd = use_of_winograd(request, placement, placed->step.graph);
  placed->step = std::move(run("fuse", "winograd").front());
  placement.facts = facts_of(placed->step);
  check_drawn(placement, placed->step.normalization_group);
  placement.on_gpus = is_gpu(request.device);
  deal_processes(request, placement);
  placed->parts = run("peers", "partition");
  check_sums_by_mpi(placed->parts);
  placement.sends_values = values_travel(placed->parts);
  deal_gpus(request, placement);
  check_stragglers(request, backup_workers_of(placement));
  placement.launch = launch_of_steps(request, placement);
  placement.evaluate = request.evaluate == "end" ? Evaluate::AtEnd : Evaluate::Often;
  check_checkpoints(request);
  check_trace(request);
  placement.target = target_of(request, *placement.workload);
  placement.placed = std::move(placed);
  return placement;
}

void set_data_weights(Placement& placement, std::vector<float> weights) {
  if (weights.empty()) return;
  auto placed = std::make_shared<PlacedStep>(*placement.placed);
  const auto give_to = [&](Graph& graph) {
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      Initializer& initializer = graph.mutable_variable(v).initializer;
      if (initializer.kind == Initializer::Kind::Given) initializer.values = weights;
    }
  };
  give_to(placed->step.graph);
  for (Step& part : placed->parts) give_to(part.graph);
  placement.recipe.data_weights = std::move(weights);
  placement.placed = std::move(placed);
}

std::optional<std::string> nccl_algorithm(const RaceRequest& request) {
  const std::string algorithm =
      ChosenOptions{.given = request.options}.choice(strategies::kAlgorithm);
  if (!is_gpu(request.device) || !comm::is_nccl_algorithm(algorithm)) return std::nullopt;
  return algorithm;
}

EvaluationPoints evaluation_points_of(const Placement& placement) {
  const workloads::Recipe& recipe = placement.recipe;
  if (placement.evaluate == Evaluate::AtEnd) return evaluation_at(recipe.total_examples);
  return evaluation_points(placement.workload->evaluation_every, recipe.global_batch,
                           recipe.total_examples);
}

Step as_computed(const Placement& placement, const Step& step) {
  const strategies::PassInput input = input_of(placement);
  const Step fused = strategies::run_passes("fuse", "fuse", step, input).front();
  return strategies::run_passes("winograd", "winograd", fused, input).front();
}

std::int64_t parts_of(const Placement& placement) {
  return placement.options.stages * placement.options.shards;
}

std::int64_t workers_of(const Placement& placement) {
  return placement.options.replicas * parts_of(placement);
}

std::int64_t backup_workers_of(const Placement& placement) {
  return placement.facts.replicas - placement.options.replicas;
}

}  // namespace regatta::plan
