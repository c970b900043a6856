// SPDX-License-Identifier: Apache-2.0
//
// Makes a race's trainer, which trains in this process or in ranks that this process starts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/plan/fingerprint.h"
#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "harness/ranks/launcher.h"
#include "harness/run/trainer.h"

namespace regatta::race {

struct TrainerRequest {
  const plan::RaceRequest& request;
  const plan::Placement& placement;
  const DataSet& data;            ///< the training data; must outlive the trainer
  const std::vector<int>& cores;  ///< the cores that this process may use
  std::int64_t threads_per_worker = 1;
  std::string run_id;
  plan::Fingerprint fingerprint;                 ///< every rank's must equal this one
  std::function<void()> started;                 ///< called once the ranks are started
  std::function<void(const std::string&)> tell;  ///< prints a line for the user
};

/// Returns whether the run's ranks are all on this host or on several hosts.
ranks::Reach reach_of_run(const plan::RaceRequest& request);

/// Returns the options for launching the ranks of a multi-process run.
ranks::LaunchOptions launch_of(const TrainerRequest& wanted);

/// Makes the trainer of a run; `parts[p]` is the step of process p. Throws: RunError if a rank does
/// not connect or has a different fingerprint.
std::unique_ptr<run::Trainer> make_trainer(const TrainerRequest& wanted,
                                           const std::vector<Step>& parts);

}  // namespace regatta::race
