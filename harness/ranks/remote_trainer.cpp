// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/remote_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "harness/plan/layout.h"
#include "harness/run/local_trainer.h"
#include "harness/run/merge_reports.h"
#include "harness/system/process.h"
#include "harness/system/slurm_end.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLookForAnswers{100};
constexpr milliseconds kBetweenLooks{50};
constexpr seconds kJoinLimit{120};  // loading data included
constexpr seconds kReadyLimit{300};
constexpr seconds kAnswerLimit{60};
constexpr seconds kLongestStep{900};
constexpr seconds kLateReportLimit{2};
constexpr seconds kClearUpLimit{3};  // for what tells a cause from its consequences
constexpr seconds kWordLimit{6};     // for mpirun to say what a rank died of, where it does
constexpr milliseconds kEndPatience{3000};
constexpr milliseconds kAbortPatience{4000};  // mpirun ends the others itself

std::vector<std::string> places_of(const std::vector<Step>& parts) {
  std::vector<std::string> places;
  for (const Step& part : parts) places.push_back(places_text(part));
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
  server_ = std::make_unique<ControlServer>(ControlServerOptions{.identity = options_.identity,
                                                                 .listen = options_.listen,
                                                                 .ranks = ranks(),
                                                                 .tls = options_.tls});
  LaunchOptions& launch = options_.launch;
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
  watch_->all_are_ready();
  if (options_.traces == RemoteOptions::Traces::Kept) compare_clocks();
  if (options_.launch.on_death == OnDeath::GoOn) {
    watch_->spare_workers(options_.servers,
                          {.by_rank = options_.workers, .needed = options_.needed_workers});
  }
}

/// One rank after the other, so that an answer is taken as soon as it comes.
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

/// Who leads no loop of its own counts nothing.
std::int64_t RemoteTrainer::examples_seen() const {
  std::int64_t most = 0;
  for (int r = 0; r < ranks(); ++r) most = std::max(most, server_->state(r).examples);
  return most;
}

/// By the last heartbeats.
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

std::vector<VariableCopy> RemoteTrainer::variables(Copies which) {
  CopyChooser chooser(which);
  std::vector<VariableCopy> copies;
  std::vector<std::pair<std::size_t, VariableId>> wanted;  // by process
  for (int r = 0; r < ranks(); ++r) {
    const auto p = static_cast<std::size_t>(r);
    const Graph& graph = parts_[p].graph;
    control::ToRank message;
    for (VariableId v : chooser.choose(parts_[p])) {
      // The others' statistics stand for the whole.
      if (watch_->is_lost(r) && graph.variable(v).kind == VariableKind::Statistic) continue;
      copies.push_back(incoming_.expect(p, v));
      wanted.emplace_back(p, v);
      message.mutable_send_variables()->add_variables(v);
    }
    if (!incoming_.expects_any(p) || watch_->is_lost(r)) continue;
    awaited_.insert(r);
    server_->send(r, message);
  }
  await_all("to send its variables", kAnswerLimit);
  std::vector<VariableCopy> whole;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto [p, v] = wanted[i];
    // Of a rank that was lost meanwhile, as above.
    const bool lost = watch_->is_lost(static_cast<int>(p));
    if (lost && copies[i].variable->kind == VariableKind::Statistic) continue;
    whole.push_back(copies[i]);
    whole.back().version = incoming_.version(p, v);
  }
  return whole;
}

void RemoteTrainer::look() {
  while (const auto message = server_->next(milliseconds(0))) take(*message);
  if (watch_->look() || SlurmEndNotice::has_come()) fail();
  go_on_without_the_lost();
}

void RemoteTrainer::begin_at(const std::vector<VariableCopy>& variables,
                             const Positions& positions) {
  std::size_t next = 0;
  for (int r = 0; r < ranks(); ++r) {
    const Graph& graph = parts_[static_cast<std::size_t>(r)].graph;
    for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
      const VariableCopy& copy = variables.at(next++);
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

TrainingReport RemoteTrainer::report() {
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
  TrainingReport all = merged(finished_reports_);
  drop_incomplete_losses(parts_, finished_reports_, all);
  all.peak_rss_bytes += peak_rss_bytes();
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

bool RemoteTrainer::is_reachable(int rank) const {
  return !ended_ && !watch_->is_lost(rank) && !server_->state(rank).broken;
}

/// After a failure; who does not answer soon is left out.
void RemoteTrainer::ask_the_living(const control::ToRank& message) {
  awaited_.clear();
  for (int r = 0; r < ranks(); ++r) {
    if (!is_reachable(r)) continue;
    awaited_.insert(r);
    server_->send(r, message);
  }
  const auto deadline = std::chrono::steady_clock::now() + kLateReportLimit;
  while (!awaited_.empty() && std::chrono::steady_clock::now() < deadline) {
    if (const auto late = server_->next(kLookForAnswers)) take(*late);
    std::erase_if(awaited_, [this](int rank) { return !is_reachable(rank); });
  }
}

void RemoteTrainer::send_all(const control::ToRank& message) {
  for (int r = 0; r < ranks(); ++r) {
    if (watch_->is_lost(r)) continue;
    awaited_.insert(r);
    server_->send(r, message);
  }
}

void RemoteTrainer::await_all(const std::string& what, Limit limit) {
  auto deadline = std::chrono::steady_clock::now() + limit;
  auto next_look = std::chrono::steady_clock::now();
  std::int64_t examples = examples_seen();
  while (!awaited_.empty()) {
    const auto message = server_->next(kLookForAnswers);
    if (message) take(*message);
    if (awaited_.empty()) break;
    const auto now = std::chrono::steady_clock::now();
    if (message && now < next_look) continue;  // a look at all after each would be quadratic
    next_look = now + kBetweenLooks;
    look();
    if (examples_seen() != examples) deadline = now + limit;  // they get on
    examples = examples_seen();
    if (now < deadline) continue;
    std::string missing;
    for (int r : awaited_) missing += (missing.empty() ? "" : ", ") + watch_->name_of(r);
    for (int r : awaited_) show_end_of(r);
    failed_ = true;
    reason_ = "the run has failed: " + missing + " missing";
    throw RunError(ErrorKind::Timeout, fmt::format("after {} s of waiting for ranks {}: {} missing",
                                                   limit.count(), what, missing));
  }
}

void RemoteTrainer::take(const RankMessage& message) {
  switch (message.body.body_case()) {
    case control::FromRank::kJoin:
      joined_.take(message.rank, server_->state(message.rank).host, message.body.join());
      awaited_.erase(message.rank);
      break;
    case control::FromRank::kReady:
      joined_.take(message.rank, message.body.ready());
      awaited_.erase(message.rank);
      break;
    case control::FromRank::kAdvanced: awaited_.erase(message.rank); break;
    case control::FromRank::kPiece: take_piece(message.rank, message.body.piece()); break;
    case control::FromRank::kReportPiece:
      take_piece_of_whole(message.rank, [&] {
        return take_report_piece(message.rank, message.body.report_piece());
      });
      break;
    case control::FromRank::kTracePiece:
      take_piece_of_whole(message.rank,
                          [&] { return traces_.take(message.rank, message.body.trace_piece()); });
      break;
    case control::FromRank::kTime:
      traces_.take(message.rank, message.body.time());
      awaited_.erase(message.rank);
      break;
    case control::FromRank::kTrouble: watch_->note(message.rank, message.body.trouble()); break;
    case control::FromRank::kHello:
    case control::FromRank::kBeat:
    case control::FromRank::BODY_NOT_SET: break;
  }
}

void RemoteTrainer::take_piece(int rank, const control::Piece& piece) {
  const auto p = static_cast<std::size_t>(rank);
  if (!incoming_.take(p, piece)) {
    control::Trouble trouble;
    trouble.set_text("it sent values of variables that were not asked for");
    watch_->note(rank, trouble);
    return;
  }
  if (!incoming_.expects_any(p)) awaited_.erase(rank);
}

/// `is_last` takes the piece.
void RemoteTrainer::take_piece_of_whole(int rank, const std::function<bool()>& is_last) {
  try {
    if (is_last()) awaited_.erase(rank);
  } catch (const RunError& error) {
    control::Trouble trouble;
    trouble.set_text(error.what());
    watch_->note(rank, trouble);
  }
}

bool RemoteTrainer::take_report_piece(int rank, const control::BytesPiece& piece) {
  const auto p = static_cast<std::size_t>(rank);
  std::optional<TrainingReport> report = reports_[p].take(piece, rank);
  if (!report) return false;
  finished_reports_[p] = std::move(*report);
  return true;
}

/// Waits a little for what tells the cause from its consequences, then throws it.
void RemoteTrainer::fail() {
  failed_ = true;
  const bool mpirun_tells = options_.launch.on_death == OnDeath::EndAll;
  const auto deadline =
      std::chrono::steady_clock::now() + (mpirun_tells ? kWordLimit : kClearUpLimit);
  while (std::chrono::steady_clock::now() < deadline && !SlurmEndNotice::has_come()) {
    while (const auto message = server_->next(milliseconds(0))) take(*message);
    watch_->look();
    if (watch_->is_clear()) break;
    std::this_thread::sleep_for(milliseconds(20));
  }
  const RunError error = slurm_end().value_or(watch_->cause());
  reason_ = error.what();
  for (int rank : watch_->suspects()) show_end_of(rank);
  control::ToRank message;
  message.mutable_stop()->set_reason(reason_);
  for (int r = 0; r < ranks(); ++r) {
    if (is_reachable(r)) server_->send(r, message);
  }
  throw error;
}

void RemoteTrainer::show_end_of(int rank) const {
  if (!options_.tell) return;
  for (const std::string& line : watch_->end_of_output(rank)) options_.tell(line);
}

/// Tells the others, and the lost one, should it ever listen again.
void RemoteTrainer::go_on_without_the_lost() {
  for (; known_losses_ < watch_->lost().size(); ++known_losses_) {
    const int lost = watch_->lost()[known_losses_];
    awaited_.erase(lost);
    show_end_of(lost);
    control::ToRank farewell;
    farewell.mutable_end()->set_reason(watch_->why(lost));
    server_->send(lost, farewell);
    control::ToRank message;
    message.mutable_lost()->set_process(lost);
    message.mutable_lost()->set_reason(watch_->why(lost));
    for (int r = 0; r < ranks(); ++r) {
      if (!watch_->is_lost(r)) server_->send(r, message);
    }
  }
}

void RemoteTrainer::end_all(const std::string& reason) {
  ended_ = true;
  control::ToRank message;
  message.mutable_end()->set_reason(reason);
  for (int r = 0; r < ranks(); ++r) server_->send(r, message);
}

}  // namespace regatta
