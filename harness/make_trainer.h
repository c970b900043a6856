// SPDX-License-Identifier: Apache-2.0
//
// Makes the trainer of a race: this process, or ranks that it starts.
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

namespace regatta {

struct TrainerRequest {
  const RaceRequest& request;
  const Placement& placement;
  const DataSet& data;            ///< to train on; outlives the trainer
  const std::vector<int>& cores;  ///< of the run
  std::int64_t threads_per_worker = 1;
  std::string run_id;
  Fingerprint fingerprint;                       ///< that ranks must agree with
  std::function<void()> started;                 ///< called when ranks have been started
  std::function<void(const std::string&)> tell;  ///< prints a line for the user
};

/// The hosts on which a run's ranks may be.
Reach reach_of_run(const RaceRequest& request);

/// The options with which the ranks of a run over processes are started.
LaunchOptions launch_of(const TrainerRequest& wanted);

/// `parts`: by process. Throws: RunError if a rank does not connect or has another fingerprint.
std::unique_ptr<Trainer> make_trainer(const TrainerRequest& wanted, std::vector<Step> parts);

}  // namespace regatta
