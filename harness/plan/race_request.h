// SPDX-License-Identifier: Apache-2.0
//
// Declares the request for a run: the values of the flags of `regatta run`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/record.h"
#include "harness/system/output_file.h"
#include "kernels/runtime/executor.h"

namespace regatta::plan {

/// The largest number of runs that one command may start.
inline constexpr std::int64_t kMostSeeds = 1000;

/// A program that trains in place of this one. program_flags.cpp completes it.
struct ProgramRequest {
  std::string command;                  ///< for the shell; empty: this program trains
  std::string name;                     ///< by default that of its script
  std::optional<std::string> strategy;  ///< the program's own
  std::string workload_name;            ///< a task of its own; empty: it claims `workload`
  std::string metric;                   ///< of a task of its own: `accuracy` or `loss`
  std::string work;                     ///< a dump of the workload; empty: one is made
  std::string files;                    ///< folder that has a subfolder for the files of each run
  double silence = 300;                 ///< longest time without an event. Units: s
};

/// The values of the flags of `regatta run`: the fields of the cell as the user asked for them, and
/// other values. An empty std::optional means the workload's value, unless a comment gives another
/// meaning. If place() may change a field, a member of the same name here hides that of Cell.
struct RaceRequest : record::Cell {
  RaceRequest() {
    strategy = "single";
    seed = 1;
  }

  ProgramRequest program;
  std::string data_dir;                   ///< empty: the data set's own folder (DataSource::folder)
  std::string data = "verified";          ///< `unverified` also accepts files with other digests
  std::optional<std::int64_t> processes;  ///< of workers; empty: 1, or with servers 1 per replica
  std::optional<std::int64_t> stages;     ///< per replica, in a composition with stages
  std::string winograd = "auto";
  std::string cuda_graph = "auto";
  std::int64_t seeds = 1;  ///< number of consecutive seeds from `seed`, one run each
  std::optional<std::int64_t> global_batch;
  std::optional<double> target;
  std::int64_t cores = 0;            ///< number of cores for the run; 0: all available
  std::map<int, double> stragglers;  ///< slowdown factor of each slow worker
  std::string trace;                 ///< file for the trace; empty: none
  system::IfThere if_there = system::IfThere::Refuse;  ///< whether to replace a trace that exists
  std::optional<record::Round> round;                  ///< Record::round
  std::string command;                                 ///< the command line, for the record
  std::vector<std::string> arguments;  ///< the command line without the program's name, for ranks
  OnLoss on_loss = OnLoss::End;        ///< reaction to the loss of a worker's process
  std::string rank_logs;               ///< folder for the ranks' output; empty: none
  std::optional<std::int64_t> checkpoint_every;  ///< empty: no checkpoints. Units: steps
  std::string checkpoints;                       ///< folder with a subfolder for each run
  std::string resume;                            ///< checkpoint to resume from; empty: none
  std::string hosts;                             ///< an Open MPI hostfile; empty: this machine
  std::string cluster;                ///< cluster file for virtual time; empty: a real run
  std::string virtual_mode = "time";  ///< `time` or `train`, see Simulated::mode
  std::string listen;                 ///< address that ranks can reach; empty: none
  std::string tls;                    ///< folder of certificates; empty: no TLS
};

}  // namespace regatta::plan
