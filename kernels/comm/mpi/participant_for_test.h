// SPDX-License-Identifier: Apache-2.0
//
// For tests of strategies over processes: trains one rank's part of a step in a real mpirun, with
// the transports that it needs.
#pragma once

#include <memory>

#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/runtime/count_allocations_for_test.h"
#include "kernels/runtime/devices.h"
#include "strategies/test_support.h"

namespace regatta::testing_support {

/// The run in which a rank takes part.
struct Participation {
  std::string workload;
  Step step;
  TrialOptions options;
  Binding binding;
  std::int64_t most_steps = 0;  ///< steps that may follow later, if more than the options' steps
};

/// This rank's part of a run.
class Participant {
 public:
  /// Trains for the options' number of steps.
  Participant(comm::MpiSession& session, const Participation& run)
      : global_batch_(run.step.global_batch),
        transport_(session),
        part_(strategies::partitioned(
                  strategies::apply(strategies::find_strategies(run.options.strategy), run.step,
                                    run.options.options),
                  run.binding)
                  .at(static_cast<std::size_t>(session.rank()))) {
    add_cpu_kernels(kernels_);
    in_process_.add_kernels(kernels_);
    transport_.add_kernels(kernels_);
    examples_ = run.options.steps * global_batch_;
    const std::int64_t most = std::max(examples_, run.most_steps * global_batch_);
    executor_ = std::make_unique<Executor>(
        part_, kernels_, executor_options(data_of(run.workload), run.options, most));
    transport_.connect();
    executor_->run(examples_);
  }

  /// Runs `steps` further steps and returns the number of allocations in this process.
  std::int64_t allocations_of(std::int64_t steps) {
    examples_ += steps * global_batch_;
    const std::int64_t before = allocation_count();
    executor_->run(examples_);
    return allocation_count() - before;
  }

  Executor& executor() { return *executor_; }
  const Graph& graph() const { return part_.graph; }
  TrafficByPlace counted() const {
    TrafficByPlace all = transport_.traffic();
    add(all, in_process_.traffic());
    return all;
  }

 private:
  std::int64_t global_batch_;
  std::int64_t examples_ = 0;
  KernelTable kernels_{"cpu"};
  comm::InProcessTransport in_process_;
  comm::MpiTransport transport_;
  Step part_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace regatta::testing_support
