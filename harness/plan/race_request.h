// SPDX-License-Identifier: Apache-2.0
//
// What is asked of one race: the flags of `regatta run`, as they were given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/runtime/executor.h"
#include "strategies/option.h"

namespace regatta {

/// What a user asks for. Empty optionals mean the workload's own value.
struct RaceRequest {
  std::string workload;
  std::string strategy = "single";
  std::string dataset;  ///< empty: the workload's first
  std::string data_dir = "cifar-10-batches-bin";
  std::int64_t workers = 1;
  std::optional<std::int64_t> processes;  ///< of workers; empty: the strategy's own number
  std::int64_t stages = 0;                ///< of each replica, where the strategy has both; 0: none
  OptionValues options;                   ///< of the strategy, as far as they are given
  std::string dtype = "f32";
  std::string fusion = "on";
  std::string winograd = "auto";
  std::string device = "cpu";
  std::string cuda_graph = "auto";
  std::optional<std::string> cudnn_engine;  ///< of --device cuda; empty: timed
  std::uint64_t seed = 1;
  std::optional<std::int64_t> global_batch;
  std::optional<double> epochs;
  std::optional<std::int64_t> steps;
  std::optional<double> target;
  std::optional<std::int64_t> normalization_group;  ///< empty: the workload's
  double rate_scale = 1;                            ///< multiplies the recipe's learning rate
  std::int64_t threads = 0;            ///< cores the cell owns; 0: all that are available
  std::map<int, double> stragglers;    ///< worker to factor
  std::string trace;                   ///< file; empty: none
  std::string command;                 ///< for the record
  std::vector<std::string> arguments;  ///< the same, for ranks: without the program's name
  OnLoss on_loss = OnLoss::End;        ///< of a worker's process, where others do not need it
  std::string rank_logs;               ///< folder for what ranks print
  std::optional<std::int64_t> checkpoint_every;  ///< empty: none. Units: steps
  std::string checkpoints;                       ///< folder for them, each run's in its own
  std::string resume;                            ///< a checkpoint; empty: a run from its begin
  std::string hosts;                             ///< an Open MPI hostfile; empty: this machine
  std::string listen;                            ///< address for ranks to reach; empty: loopback
  std::string tls;                               ///< folder of certificates; empty: no TLS
};

}  // namespace regatta
