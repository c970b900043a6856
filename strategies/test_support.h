// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests that run small steps under strategies: complete executors, comparisons of two
// runs, and workloads with their data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/comm/in_process/in_process.h"
#include "kernels/distribute/partition.h"
#include "kernels/distribute/traffic.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "kernels/runtime/initialize.h"
#include "kernels/runtime/kernel_watch_for_test.h"
#include "strategies/passes.h"
#include "workloads/data/curve.h"
#include "workloads/data/pairs.h"
#include "workloads/data/shapes.h"
#include "workloads/narrow_for_test.h"
#include "workloads/workload.h"

namespace regatta::testing_support {

/// Returns a workload of the table, or a narrow one for tests.
workloads::Workload workload_of(const std::string& name);

bool is_language(const std::string& workload);

/// Returns the workload's data for tests: the curve, 512 images or 512 sequences.
const DataSet& data_of(const std::string& workload);

/// Returns a training step of the workload on its data; schedules end after `steps`.
Step training_of(const std::string& workload, std::int64_t global_batch, std::int64_t steps,
                 ElementType element = ElementType::F32);

/// Returns a strategy's name in a form that a test's name may contain.
std::string identifier_of(std::string strategy);

struct TrialOptions {
  std::string strategy = "single";
  std::vector<const strategies::Strategy*> own = {};  ///< the test's own, in place of that
  strategies::StrategyOptions options;
  std::int64_t steps = 20;
  std::int64_t most_steps = 0;  ///< limit of the executor, if more than `steps`
  int threads_per_worker = 1;
  std::vector<int> cores;  ///< cores of the executor; empty: no pinning
  std::map<int, double> stragglers;
  std::size_t trace_events = 0;
  OnLoss loss = OnLoss::End;
  PlanOptions plan = {};
  KernelWatch* watch = nullptr;  ///< outlives the executors; null: none
  Device* device = nullptr;      ///< null: the CPU
  std::function<void(KernelTable&)> add_kernels = add_cpu_kernels;
  std::function<void(Step&, KernelTable&)> change = {};  ///< of the part and the kernels
  LaunchSteps launch = LaunchSteps::ByKernel;
};

inline constexpr std::uint64_t kSeed = 11;

ExecutorOptions executor_options(const DataSet& data, const TrialOptions& run,
                                 std::int64_t examples);

using Parameters = std::map<std::string, std::vector<float>>;  ///< by name

/// The initial parameters of a step of one replica.
Parameters first_parameters(const Step& step);

/// Adds the first copy of each parameter, that of replica 0 or of home, by name; parts of one
/// parameter are assembled.
void add_parameters(Executor& executor, Parameters& all);

/// Returns the mean number of versions that an update missed; -1 if there were no updates. A loop's
/// windows, each from a read to the update with its gradient, do not overlap, so an update falls
/// into at most one window of each other loop. With n loops the mean is therefore at most n - 1,
/// and close to that if all loops are always busy.
double mean_staleness(const std::vector<WorkerReport>& workers);

/// A step that is rewritten by a strategy and run for a number of global batches.
class Trial {
 public:
  Trial(const Step& step, const DataSet& data, const TrialOptions& run);

  Executor& executor() { return *executor_; }
  const Graph& graph() const { return part_.graph; }
  const comm::InProcessTransport& transport() const { return transport_; }
  TrafficByPlace counted() const { return transport_.traffic(); }

  /// Losses by step, summed over replicas. Only for synchronous runs.
  std::vector<float> losses() const { return executor_->loops().at(0).losses; }

  /// The final parameters of replica 0 or home, by name.
  Parameters parameters();

 private:
  KernelTable kernels_;
  comm::InProcessTransport transport_;
  Step part_;
  std::unique_ptr<Executor> executor_;
};

/// ||a - b||, over all elements of all parameters.
double distance(const Parameters& a, const Parameters& b);

/// ||a - b|| / ||b||, over all elements of all parameters.
double relative_difference(const Parameters& a, const Parameters& b);

}  // namespace regatta::testing_support
