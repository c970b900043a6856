// SPDX-License-Identifier: Apache-2.0
//
// Carries out the coordinator's commands in a rank: builds the rank's part of the graph, trains it
// and reports. Threads: on_interrupt() may be called from any thread, all else from one.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "harness/ranks/control_client.h"
#include "harness/ranks/rank_environment.h"
#include "harness/run/local_trainer.h"
#include "kernels/comm/grpc/grpc_exchange.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta::ranks {

class RankWork {
 public:
  /// `session` is the MPI session of the allocation that this process joined; null without one.
  /// `placement` is the request's, if it is known already.
  RankWork(const plan::RaceRequest& request, ControlClient& client,
           std::unique_ptr<comm::MpiSession> session, std::optional<plan::Placement> placement)
      : request_(request),
        client_(client),
        rank_(number_of_this_rank()),
        placement_(placement ? std::move(*placement) : plan::Placement()),
        mpi_(std::move(session)) {}

  /// Builds the rank's part of the graph, and sends the facts on which all ranks must agree.
  void join();
  /// Carries out a command. Returns false if the command ends the run.
  bool handle(const control::ToRank& command);
  /// Handles the loss of a process or a stop of the run while a command runs. Threads: any.
  void on_interrupt(const control::ToRank& command);

 private:
  void start(const control::Start& start);
  void advance(const control::Advance& advance);
  void send_variables(const control::SendVariables& wanted);
  void take_piece(const control::Piece& piece);
  void begin_at(const control::BeginAt& begin);
  void send_the_report(const control::SendReport& wanted);
  void tell_time();
  void send_the_trace();
  std::size_t own() const { return static_cast<std::size_t>(rank_); }
  /// Returns the parts of all processes. Those of other processes determine this process's peers.
  const std::vector<Step>& parts() const { return placement_.placed->parts; }
  std::string open_exchange();
  void send_advanced();

  plan::RaceRequest request_;
  ControlClient& client_;
  int rank_;
  workloads::DataSets data_;
  plan::Placement placement_;
  std::set<int> peers_;  ///< processes with which it exchanges messages
  std::unique_ptr<comm::GrpcExchange> exchange_;
  std::unique_ptr<comm::MpiSession> mpi_;
  std::unique_ptr<run::LocalTrainer> trainer_;  // destroyed before the session
  std::atomic<bool> stopped_{false};            ///< the run has failed
  std::atomic<bool> started_{false};            ///< the trainer exists
};

}  // namespace regatta::ranks
