// SPDX-License-Identifier: Apache-2.0
//
// Trains in other processes, the ranks, which this process starts, coordinates and ends. Each rank
// runs its part of the placed graph. A rank is lost if its session breaks or if it is silent for
// five seconds. Unless the run may continue without that rank (OnDeath::GoOn), the run then fails:
// the other ranks are ended, and the error names the lost rank, its places, its progress, the cause
// of its death and its log file.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/plan/layout.h"
#include "harness/ranks/control_messages.h"
#include "harness/ranks/control_server.h"
#include "harness/ranks/incoming_variables.h"
#include "harness/ranks/joined_ranks.h"
#include "harness/ranks/launcher.h"
#include "harness/ranks/rank_traces.h"
#include "harness/ranks/rank_watch.h"
#include "harness/run/trainer.h"
#include "kernels/comm/grpc/unix_sockets.h"

namespace regatta::ranks {

struct RemoteOptions {
  LaunchOptions launch;  ///< the trainer sets `ranks` and extends `environment`
  comm::RunIdentity identity;
  std::string listen;  ///< the coordinator's address without port; empty: a Unix socket
  comm::TlsFiles tls;
  plan::Fingerprint fingerprint;
  std::vector<int> workers;         ///< number of workers in each process
  int servers = 0;                  ///< these processes come first; the run needs all of them
  std::int64_t needed_workers = 1;  ///< fewest workers with which the run can continue
  enum class Traces { None, Kept } traces = Traces::None;  ///< Kept if traces() will be called
  std::function<void()> started;                           ///< called once the ranks are started
  std::function<void(const std::string&)> tell;  ///< receives the last lines of failed ranks
};

class RemoteTrainer final : public run::Trainer {
 public:
  /// Starts the ranks, checks that they agree and waits until they are ready. `parts[p]` is the
  /// step of process p.
  /// Throws: RunError(Usage) with both values if a rank's fingerprint differs from the
  /// coordinator's; a rank's own error; RunError(PeerLost) or RunError(Timeout) if a rank is
  /// missing.
  RemoteTrainer(std::vector<Step> parts, const RemoteOptions& options);
  /// Ends the ranks, with signals if necessary.
  ~RemoteTrainer() override;

  std::vector<plan::HostCores> hosts() const override { return joined_.hosts(); }
  std::string host_of(std::int64_t rank) const override {
    return server_->state(static_cast<int>(rank)).host;
  }

  void advance_to(std::int64_t examples) override;
  std::int64_t examples_seen() const override;
  std::optional<double> latest_loss() const override;
  std::vector<run::VariableCopy> variables(run::Copies which) override;
  void look() override;
  void begin_at(const std::vector<run::VariableCopy>& variables,
                const Positions& positions) override;
  run::TrainingReport report() override;
  std::vector<ProcessTrace> traces() override;

 private:
  using Limit = std::chrono::seconds;

  int ranks() const { return static_cast<int>(parts_.size()); }
  void send_all(const control::ToRank& message);
  /// Takes messages until no awaited rank is left.
  void await_all(const std::string& what, Limit limit);
  void take(const RankMessage& message);
  void take_piece(int rank, const control::Piece& piece);
  void take_piece_of_whole(int rank, const std::function<bool()>& is_last);
  bool take_report_piece(int rank, const control::BytesPiece& piece);
  void start_all();
  void compare_clocks();
  [[noreturn]] void fail();
  void show_end_of(int rank) const;
  void end_all(const std::string& reason);
  void go_on_without_the_lost();
  bool is_reachable(int rank) const;
  void ask_the_living(const control::ToRank& message);

  std::vector<Step> parts_;
  RemoteOptions options_;
  std::optional<comm::SocketFolder> sockets_;  ///< until all ranks are connected
  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<RankWatch> watch_;
  std::set<int> awaited_;
  JoinedRanks joined_;
  IncomingVariables incoming_;
  std::vector<ReportReader> reports_;
  std::vector<run::TrainingReport> finished_reports_;
  RankTraces traces_;
  std::size_t known_losses_ = 0;
  std::string reason_;  ///< reason of a failure
  bool ended_ = false;
  bool failed_ = false;
};

}  // namespace regatta::ranks
