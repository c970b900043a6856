// SPDX-License-Identifier: Apache-2.0
//
// The request for one race: the values of the flags of `regatta run`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/system/output_file.h"
#include "kernels/runtime/executor.h"
#include "strategies/option.h"

namespace regatta {

/// Most runs that one command may start.
inline constexpr std::int64_t kMostSeeds = 1000;

/// An empty optional means the workload's own value, unless its comment says otherwise.
struct RaceRequest {
  std::string workload;
  std::string strategy = "single";
  std::string dataset;  ///< empty: the workload's first
  std::string data_dir = "cifar-10-batches-bin";
  std::string data = "verified";  ///< or `unverified`: files that others published, too
  std::int64_t workers = 1;
  std::optional<std::int64_t> processes;  ///< of workers; empty: 1, or one per replica with servers
  std::optional<std::int64_t> stages;     ///< of a replica, in compositions that have both
  OptionValues options;                   ///< options of the strategy that were given
  std::string dtype = "f32";
  std::string fusion = "on";
  std::string winograd = "auto";
  std::string device = "cpu";
  std::string cuda_graph = "auto";
  std::optional<std::string> cudnn_engine;  ///< for --device cuda; empty: timed
  std::uint64_t seed = 1;
  std::int64_t seeds = 1;  ///< consecutive seeds from `seed`, a run each
  std::optional<std::int64_t> global_batch;
  std::optional<double> epochs;
  std::optional<std::int64_t> steps;
  std::string evaluate = "often";
  std::optional<double> target;
  std::optional<std::int64_t> normalization_group;  ///< empty: the workload's
  double rate_scale = 1;                            ///< multiplies the recipe's learning rate
  std::int64_t threads = 0;                         ///< cores for the run; 0: all available ones
  std::map<int, double> stragglers;                 ///< worker to factor
  std::string trace;                                ///< file; empty: none
  IfThere if_there = IfThere::Refuse;               ///< for the trace's file
  std::string command;                              ///< the command line, for the record
  std::vector<std::string> arguments;  ///< the command line without the program's name, for ranks
  OnLoss on_loss = OnLoss::End;        ///< if a worker's process is lost
  std::string rank_logs;               ///< folder for the output of ranks
  std::optional<std::int64_t> checkpoint_every;  ///< empty: none. Units: steps
  std::string checkpoints;                       ///< folder with a subfolder for each run
  std::string resume;                            ///< a checkpoint; empty: start from the beginning
  std::string hosts;                             ///< an Open MPI hostfile; empty: this machine
  std::string cluster;                           ///< a file: run in virtual time; empty: a real run
  std::string virtual_mode = "time";             ///< or `train`
  std::string listen;                            ///< address that ranks can reach; empty: loopback
  std::string tls;                               ///< folder of certificates; empty: no TLS
  std::string costs;                  ///< a calibration, for --all-reduce auto; empty: none
  std::string picked;                 ///< instead of it: an algorithm for each sum, by commas
  std::int64_t replicas_on_host = 0;  ///< no flag; from hosts (harness/torus_of_hosts.h)
};

}  // namespace regatta
