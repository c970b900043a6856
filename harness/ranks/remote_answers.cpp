// SPDX-License-Identifier: Apache-2.0
//
// The coordinator's messages to its ranks and their answers, until ranks are lost or the run ends.
#include <fmt/format.h>

#include <thread>

#include "harness/ranks/remote_trainer.h"
#include "harness/system/slurm_end.h"
#include "kernels/base/error.h"

namespace regatta::ranks {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLookForAnswers{100};
constexpr milliseconds kBetweenLooks{50};
constexpr seconds kLateReportLimit{2};
constexpr seconds kClearUpLimit{3};  // for reports that separate a cause from its consequences
constexpr seconds kWordLimit{6};     // for mpirun to report how a rank died, if it does

}  // namespace

bool RemoteTrainer::is_reachable(int rank) const {
  return !ended_ && !watch_->is_lost(rank) && !server_->state(rank).broken;
}

/// Sends a request after a failure; a rank that does not answer soon is left out.
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
    if (message && now < next_look) continue;  // else looks would be quadratic
    next_look = now + kBetweenLooks;
    look();
    if (examples_seen() != examples) deadline = now + limit;  // they make progress
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

/// Calls `is_last`, which takes the piece and returns true for the last one.
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
  std::optional<run::TrainingReport> report = reports_[p].take(piece, rank);
  if (!report) return false;
  finished_reports_[p] = std::move(*report);
  return true;
}

/// Waits a little for reports that separate the cause from its consequences, then throws the cause.
void RemoteTrainer::fail() {
  failed_ = true;
  const bool mpirun_tells = options_.launch.on_death == OnDeath::EndAll;
  const auto deadline =
      std::chrono::steady_clock::now() + (mpirun_tells ? kWordLimit : kClearUpLimit);
  while (std::chrono::steady_clock::now() < deadline && !system::SlurmEndNotice::has_come()) {
    while (const auto message = server_->next(milliseconds(0))) take(*message);
    watch_->look();
    if (watch_->is_clear()) break;
    std::this_thread::sleep_for(milliseconds(20));
  }
  const RunError error = system::slurm_end().value_or(watch_->cause());
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

/// Informs the other ranks, and the lost one in case it reads again.
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

}  // namespace regatta::ranks
