// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/remote_trainer.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/run/local_trainer.h"
#include "harness/run/merge_reports.h"
#include "harness/system/process.h"
#include "kernels/base/error.h"

namespace regatta::ranks {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kJoinLimit{120};  // loading data included
constexpr seconds kReadyLimit{300};
constexpr seconds kAnswerLimit{60};
constexpr seconds kLongestStep{900};
constexpr milliseconds kEndPatience{3000};
constexpr milliseconds kAbortPatience{4000};  // mpirun itself ends the others

std::vector<std::string> places_of(const std::vector<Step>& parts) {
  std::vector<std::string> places;
  for (const Step& part : parts) places.push_back(plan::places_text(part));
  return places;
}

}  // namespace

RemoteTrainer::RemoteTrainer(std::vector<Step> parts, const RemoteOptions& options)
    : parts_(std::move(parts)),
      options_(options),
      joined_(options_.fingerprint, options_.workers),
      incoming_(parts_),
      reports_(parts_.size()),
      finished_reports_(parts_.size()),
      traces_(static_cast<int>(parts_.size())) {
  LaunchOptions& launch = options_.launch;
  const bool starts_mpirun = launch.start == Start::All;
  const std::string mark = std::string(kRunIdVariable) + "=" + options_.identity.run_id;
  launch.keeper = std::make_shared<Keeper>(starts_mpirun ? mark : "");
  if (options_.listen.empty()) {
    sockets_.emplace();
    launch.keeper->remove(sockets_->path());
    options_.listen = sockets_->listen();
  }
  server_ = std::make_unique<ControlServer>(ControlServerOptions{.identity = options_.identity,
                                                                 .listen = options_.listen,
                                                                 .ranks = ranks(),
                                                                 .tls = options_.tls});
  launch.ranks = ranks();
  launch.environment[kCoordinatorVariable] = server_->address();
  launch.environment[kRunIdVariable] = options_.identity.run_id;
  launch.environment[kTokenVariable] = options_.identity.token;
  if (launch.start == Start::RankZero) launch.environment[kJoinedVariable] = "1";
  launcher_ = std::make_unique<Launcher>(launch);
  if (options_.started) options_.started();
  watch_ = std::make_unique<RankWatch>(*server_, *launcher_, places_of(parts_),
                                       parts_.front().global_batch);
  start_all();
}

RemoteTrainer::~RemoteTrainer() {
  if (!ended_) end_all(reason_);
  launcher_->end(failed_ ? kAbortPatience : kEndPatience);
}

void RemoteTrainer::start_all() {
  for (int r = 0; r < ranks(); ++r) awaited_.insert(r);
  await_all("to join", kJoinLimit);
  std::string text;
  for (int r = 0; r < ranks(); ++r) {
    const std::string& differs = joined_.difference_of(r);
    if (!differs.empty()) text += fmt::format("; {}: {}", watch_->name_of(r), differs);
  }
  if (!text.empty()) {
    end_all("its run is another than the coordinator's" + text);
    throw RunError(ErrorKind::Usage, "the ranks do not agree with the coordinator" + text);
  }
  std::vector<control::Start> starts = joined_.starts();
  for (int r = 0; r < ranks(); ++r) {
    control::ToRank message;
    *message.mutable_start() = std::move(starts.at(static_cast<std::size_t>(r)));
    server_->send(r, message);
    awaited_.insert(r);
  }
  await_all("to be ready", kReadyLimit);
  sockets_.reset();  // no other process can connect
  watch_->all_are_ready();
  if (options_.traces == RemoteOptions::Traces::Kept) compare_clocks();
  if (options_.launch.on_death == OnDeath::GoOn) {
    watch_->spare_workers(options_.servers,
                          {.by_rank = options_.workers, .needed = options_.needed_workers});
  }
}

/// Compares with one rank after the other, so that each answer is read as soon as it arrives.
void RemoteTrainer::compare_clocks() {
  for (int r = 0; r < ranks(); ++r) {
    for (int trip = 0; trip < RankTraces::kRoundTrips && !watch_->is_lost(r); ++trip) {
      awaited_.insert(r);
      server_->send(r, traces_.ask_time(r));
      await_all("to tell their time", kAnswerLimit);
    }
    traces_.compare(r, server_->state(r).host);
  }
}

void RemoteTrainer::advance_to(std::int64_t examples) {
  control::ToRank message;
  message.mutable_advance()->set_examples(examples);
  send_all(message);
  await_all("to train", kLongestStep);
}

/// A rank that leads no loop reports zero examples.
std::int64_t RemoteTrainer::examples_seen() const {
  std::int64_t most = 0;
  for (int r = 0; r < ranks(); ++r) most = std::max(most, server_->state(r).examples);
  return most;
}

/// The loss in the last heartbeats.
std::optional<double> RemoteTrainer::latest_loss() const {
  double sum = 0;
  for (int r = 0; r < ranks(); ++r) {
    if (parts_[static_cast<std::size_t>(r)].losses.empty()) continue;
    const std::optional<double> loss = server_->state(r).loss;
    if (!loss) return std::nullopt;
    sum += *loss;
  }
  return sum;
}

std::vector<run::VariableCopy> RemoteTrainer::variables(run::Copies which) {
  run::CopyChooser chooser(which);
  std::vector<run::VariableCopy> copies;
  std::vector<std::pair<std::size_t, VariableId>> wanted;  // by process
  for (int r = 0; r < ranks(); ++r) {
    const auto p = static_cast<std::size_t>(r);
    const Graph& graph = parts_[p].graph;
    control::ToRank message;
    for (VariableId v : chooser.choose(parts_[p])) {
      // The mean of the other copies is used in its place.
      if (watch_->is_lost(r) && graph.variable(v).judged_by() == Judged::Mean) continue;
      copies.push_back(incoming_.expect(p, v));
      wanted.emplace_back(p, v);
      message.mutable_send_variables()->add_variables(v);
    }
    if (!incoming_.expects_any(p) || watch_->is_lost(r)) continue;
    awaited_.insert(r);
    server_->send(r, message);
  }
  await_all("to send its variables", kAnswerLimit);
  std::vector<run::VariableCopy> whole;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto [p, v] = wanted[i];
    // The rank was lost meanwhile: as above.
    const bool lost = watch_->is_lost(static_cast<int>(p));
    if (lost && copies[i].variable.judged_by() == Judged::Mean) continue;
    whole.push_back(copies[i]);
    whole.back().version = incoming_.version(p, v);
  }
  return whole;
}

void RemoteTrainer::look() {
  while (const auto message = server_->next(milliseconds(0))) take(*message);
  if (watch_->look() || system::SlurmEndNotice::has_come()) fail();
  go_on_without_the_lost();
}

void RemoteTrainer::begin_at(const std::vector<run::VariableCopy>& variables,
                             const Positions& positions) {
  std::size_t next = 0;
  for (int r = 0; r < ranks(); ++r) {
    const Graph& graph = parts_[static_cast<std::size_t>(r)].graph;
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      const run::VariableCopy& copy = variables.at(next++);
      check(copy.tensor.type == graph.variable(v).type, "variables stand in the order of ranks");
      send_pieces(v, copy, [&](control::Piece piece) {
        control::ToRank message;
        *message.mutable_piece() = std::move(piece);
        server_->send(r, message);
      });
    }
  }
  control::ToRank message;
  set_positions(*message.mutable_begin_at(), positions);
  send_all(message);
  await_all("to go on from the checkpoint", kAnswerLimit);
}

run::TrainingReport RemoteTrainer::report() {
  reports_.assign(parts_.size(), {});
  finished_reports_.assign(parts_.size(), {});
  control::ToRank message;
  message.mutable_send_report()->set_settle_arrivals(!failed_);
  if (failed_) {
    ask_the_living(message);
  } else {
    send_all(message);
    await_all("to report", kAnswerLimit);
  }
  run::TrainingReport all = run::merged(finished_reports_);
  run::drop_incomplete_losses(parts_, finished_reports_, all);
  all.peak_rss_bytes += system::peak_rss_bytes();
  if (!failed_) {
    for (int r : watch_->lost()) all.lost_processes.push_back(watch_->why(r));
  }
  return all;
}

std::vector<ProcessTrace> RemoteTrainer::traces() {
  control::ToRank message;
  message.mutable_send_trace();
  if (failed_) {
    ask_the_living(message);
  } else {
    compare_clocks();
    send_all(message);
    await_all("to send their traces", kAnswerLimit);
  }
  return traces_.joined();
}

}  // namespace regatta::ranks
