// SPDX-License-Identifier: Apache-2.0
//
// Sets a race up: data, placement, trainer and evaluator, before the clocks start.
#include <algorithm>
#include <utility>

#include "harness/plan/capture_rule.h"
#include "harness/plan/cell.h"
#include "harness/plan/fingerprint.h"
#include "harness/plan/layout.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/slurm_room.h"
#include "harness/plan/training_options.h"
#include "harness/race/make_trainer.h"
#include "harness/race/race_run.h"
#include "harness/race/summary.h"
#include "harness/ranks/local_address.h"
#include "harness/system/control_group.h"
#include "harness/system/machine.h"
#include "harness/system/process.h"
#include "harness/system/run_id.h"
#include "harness/system/slurm_job.h"
#include "kernels/runtime/gpu_facts.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::race {

Race::Race(const plan::RaceRequest& request, const RaceHooks& hooks)
    : request_(request), hooks_(hooks), begin_ns_(now_ns()), checkpoints_(request) {
  const workloads::Workload& workload = workloads::find_workload(request.workload);
  strategies::find_strategies(request.strategy);  // reject unknown names before measuring
  const std::string dataset = plan::dataset_of(request, workload);
  cores_ = system::available_cores(request.cores);
  if (request.cluster.empty()) record_.load = load_before();
  cores_used_ = std::ssize(cores_);
  placement_ = plan::place_without_data(request);
  check_room();
  data_ = workloads::load_data(workload, dataset, plan::files_of(request));
  if (placement_.by_nccl) {
    pinned_.emplace(*plan::nccl_algorithm(request));
    if (reach_of_run(request) == ranks::Reach::ThisHost)
      interface_.emplace(ranks::interface_with(ranks::kLoopback));
  }
  compute_data_weights();
  describe(dataset);
  measure_peak();
  if (!request.trace.empty()) trace_.create(request.trace, request.if_there);
  build();
  if (hooks.ready) hooks.ready(placement_.placed->step.graph);
  placement_.placed.reset();  // the trainer has its parts
  unless_a_peer_is_lost([&] { checkpoints_.write_first(*trainer_, record_); });
  record_.setup_ns = now_ns() - begin_ns_;
}

/// The load by other processes before the run; it is measured before the run's time begins.
std::optional<record::LoadRecord> Race::load_before() {
  const std::optional<double> load = system::load_of_others();
  begin_ns_ = now_ns();
  if (!load) return std::nullopt;
  return record::LoadRecord{.before = *load};
}

/// Sets the peak of a GPU, or of this process's cores, whose measurement does not count as set-up.
void Race::measure_peak() {
  constexpr double kLeastFlops = 1e6;  // below, a step's time is that of starting it
  if (!request_.cluster.empty() || placement_.model_flops < kLeastFlops) return;
  const ElementType element = placement_.recipe.element;
  if (!placement_.on_gpus) {
    const std::int64_t begin_ns = now_ns();
    peak_ = run::measured_peak(element, cores_);
    begin_ns_ += now_ns() - begin_ns;
    return;
  }
  const std::vector<GpuFacts> gpus = find_gpus().gpus;
  const bool alike =
      std::ranges::all_of(gpus, [&](const GpuFacts& gpu) { return gpu.name == gpus.front().name; });
  if (alike && !gpus.empty()) peak_ = run::peak_of_gpu(gpus.front().name, element);
}

/// Checks that the run's processes have room, or that mpirun or srun has started as many. In
/// virtual time there are none.
void Race::check_room() {
  if (!request_.cluster.empty()) return simulate::require_virtual(request_, placement_);
  ranks::check_allocation(placement_.processes);
  if (ranks::allocated_processes() == 0 && !system::slurm_job()) return;
  if (ranks::allocated_processes() == 0) return plan::require_room(request_, placement_);
  members_.emplace(request_.arguments);
}

/// Computes the initial weights that come from data; the result clock includes this.
void Race::compute_data_weights() {
  const std::int64_t begin_ns = now_ns();
  plan::set_data_weights(placement_, workloads::data_weights_of(*placement_.workload, data_.train));
  record_.data_weights_ns = now_ns() - begin_ns;
}

void Race::describe(const std::string& dataset) {
  record_.cell = plan::cell_of(request_, placement_,
                               {.dataset = dataset, .cores = static_cast<int>(cores_.size())});
  if (data_.train.origin == DataOrigin::Unverified || data_.test.origin == DataOrigin::Unverified) {
    record_.cell.unverified_data = workloads::digest_of(data_);
  }
  record_.target = {.metric = std::string(to_string(placement_.workload->metric)),
                    .value = placement_.target};
  record_.model_flops_per_step = placement_.model_flops;
  const std::int64_t tokens = workloads::sequences_of(placement_.recipe.options).context;
  if (tokens > 0) record_.tokens_per_example = tokens;
  record_.run_id = system::random_hexadecimal(system::kRunIdBytes);
  record_.timestamp = system::utc_timestamp();
  record_.round = request_.round;
  record_.command = request_.command;
  record_.resumed = checkpoints_.resumed();
}

void Race::build() {
  // Throws if the machine or the build lacks the device.
  evaluation_backend_ = run::make_backend(request_.device);
  const Step& placed = placement_.placed->step;
  const std::vector<Step>& parts = placement_.placed->parts;
  const std::int64_t steps = placement_.recipe.total_examples / placement_.recipe.global_batch;
  record_.graph = graph_record(parts, std::max<std::int64_t>(1, steps));
  record_.graph.build_ns = placement_.placed->build_ns;

  evaluation_points_ = plan::evaluation_points_of(placement_);
  const workloads::Recipe evaluated =
      plan::evaluated_recipe(request_, placement_.recipe, data_.test.count);
  evaluator_ = std::make_unique<run::Evaluator>(
      *placement_.workload,
      plan::as_computed(placement_, placement_.workload->evaluation(evaluated)), data_.test,
      *evaluation_backend_,
      run::EvaluatorOptions{.cores = cores_,
                            .evaluations = plan::most_evaluations(evaluation_points_),
                            .models = static_cast<int>(record_.graph.models),
                            .groups = strategies::dealt_groups(
                                placed.global_batch / placed.normalization_group,
                                placement_.options.replicas, plan::backup_workers_of(placement_)),
                            .launch = plan::launch_of_evaluations(request_)});
  unless_a_peer_is_lost([&] {
    start_trainer(placed, parts);
    record_.checksums.initial_weights = checksum_of_weights(*trainer_);
    record_.checksums.data = workloads::digest_of(data_);
    checkpoints_.restore(*trainer_, record_);
  });
}

/// All places are in this process, even if the cluster has several.
void Race::start_virtual_trainer(const Step& placed, const std::vector<Step>& parts) {
  simulate::VirtualCell cell = simulate::virtual_cell(request_, placement_, parts);
  ExecutorOptions options = plan::executor_options(request_, placement_, data_.train, 0);
  options.cores = cores_;
  options.threads_per_worker = cell.file.cluster.threads_per_worker;
  const int workers = static_cast<int>(plan::workers_of(placement_));
  plan::count_cores({{.workers = workers, .cores = options.threads_per_worker * workers}},
                    record_.cell);
  auto trainer = std::make_unique<simulate::VirtualTrainer>(
      std::move(cell), placed, run::make_backend(request_.device), std::move(options));
  virtual_ = trainer.get();
  trainer_ = std::move(trainer);
}

/// Runs `set_up`. Errors that are not the request's fault become a failed row of the result.
void Race::unless_a_peer_is_lost(const std::function<void()>& set_up) {
  try {
    if (!early_failure_) set_up();
  } catch (const RunError& error) {
    const bool leaves_a_row = error.kind() == ErrorKind::PeerLost ||
                              error.kind() == ErrorKind::Timeout ||
                              error.kind() == ErrorKind::Cancelled;
    if (!leaves_a_row) throw;
    early_failure_ = error;
  }
}

void Race::start_trainer(const Step& placed, const std::vector<Step>& parts) {
  if (!request_.cluster.empty()) return start_virtual_trainer(placed, parts);
  plan::Fingerprint fingerprint;  // left empty if unused, because its hashes take time
  if (placement_.processes > 1 || checkpoints_.wanted()) {
    fingerprint =
        plan::fingerprint_of(request_, placement_, placed, data_.train, system::software_facts());
  }
  trainer_ = make_trainer({.request = request_,
                           .placement = placement_,
                           .data = data_.train,
                           .cores = cores_,
                           .threads_per_worker = record_.cell.threads_per_worker,
                           .run_id = record_.run_id,
                           .fingerprint = fingerprint,
                           .started =
                               [this] {
                                 if (members_) members_->are_told();
                               },
                           .tell = [this](const std::string& line) { tell(line); }},
                          parts);
  if (const std::vector<plan::HostCores> hosts = trainer_->hosts(); !hosts.empty()) {
    plan::count_cores(hosts, record_.cell);
    cores_used_ = 0;
    for (const plan::HostCores& host : hosts) cores_used_ += host.cores;
  }
  if (const auto quota = system::cpu_quota(); quota && *quota < 1)
    record_.cell.oversubscribed = true;
  if (checkpoints_.wanted()) checkpoints_.identify(fingerprint, record_);
}

}  // namespace regatta::race
