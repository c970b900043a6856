// SPDX-License-Identifier: Apache-2.0
#include "harness/rank_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/control_messages.h"

namespace regatta {
namespace {

constexpr std::chrono::milliseconds kMostOfALook{250};

/// What other ranks say when one is lost.
bool is_consequence(const control::Trouble& trouble) {
  const ErrorKind kind = kind_of(trouble);
  return kind == ErrorKind::PeerLost || kind == ErrorKind::Timeout;
}

}  // namespace

RankWatch::RankWatch(const ControlServer& server, Launcher& launcher,
                     std::vector<std::string> places, std::int64_t global_batch)
    : server_(server),
      launcher_(launcher),
      places_(std::move(places)),
      global_batch_(global_batch),
      looked_(std::chrono::steady_clock::now()),
      beats_(places_.size()),
      silence_(places_.size()),
      lost_(places_.size()) {}

void RankWatch::note(int rank, const control::Trouble& trouble) {
  troubles_.push_back({.rank = rank, .message = trouble});
}

bool RankWatch::look() {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds span =
      std::min<std::chrono::nanoseconds>(now - looked_, kMostOfALook);
  looked_ = now;
  for (std::size_t r = 0; r < places_.size(); ++r) {
    const RankState state = server_.state(static_cast<int>(r));
    silence_[r] = !state.greeted || state.beats != beats_[r] ? std::chrono::nanoseconds(0)
                                                             : silence_[r] + span;
    beats_[r] = state.beats;
    if (lost_[r]) continue;
    if (state.broken) {
      lost_[r] = "its connection broke";
    } else if (silence_[r] > kMostSilence) {
      lost_[r] =
          fmt::format("it has said nothing for {} s; is it stopped?",
                      std::chrono::duration_cast<std::chrono::seconds>(kMostSilence).count());
    }
    if (lost_[r]) order_.push_back(static_cast<int>(r));
  }
  return ends_the_run();
}

bool RankWatch::ends_the_run() const {
  const int ranks = static_cast<int>(places_.size());
  const bool essential =
      std::any_of(order_.begin(), order_.end(), [this](int rank) { return rank < spared_from_; });
  const auto gone = static_cast<int>(order_.size());
  if (essential || !launcher_.running()) return true;
  if (spared_from_ < ranks && gone == ranks - spared_from_) return true;
  // What a rank says that is lost is the consequence of that.
  return std::any_of(troubles_.begin(), troubles_.end(),
                     [this](const Trouble& trouble) { return !is_lost(trouble.rank); });
}

std::string RankWatch::why(int rank) const {
  return loss_of(rank, lost_.at(static_cast<std::size_t>(rank)).value_or("it is not")).what();
}

bool RankWatch::is_clear() {
  const bool broke = std::any_of(order_.begin(), order_.end(),
                                 [this](int rank) { return server_.state(rank).broken; });
  const bool told = std::any_of(troubles_.begin(), troubles_.end(), [](const Trouble& trouble) {
    return !is_consequence(trouble.message);
  });
  return told || launcher_.first_death().has_value() || !launcher_.running() ||
         (!broke && !order_.empty());
}

RunError RankWatch::cause() const {
  for (const auto& [rank, message] : troubles_) {
    if (is_consequence(message)) continue;
    return {kind_of(message), name_of(rank) + ": " + message.text()};
  }
  if (const auto death = launcher_.first_death()) {
    if (death->rank < static_cast<int>(places_.size()))
      return loss_of(death->rank, "it " + death->words);
  }
  for (int r = 0; r < static_cast<int>(places_.size()); ++r) {
    const std::vector<std::string> lines = launcher_.last_lines(r);
    if (launcher_.running() || server_.state(r).greeted || lines.empty()) continue;
    return {ErrorKind::PeerLost, name_of(r) + " ended before it joined: " + lines.back()};
  }
  if (!order_.empty())
    return loss_of(order_.front(), *lost_[static_cast<std::size_t>(order_.front())]);
  for (const auto& [rank, message] : troubles_) {
    return {kind_of(message), name_of(rank) + ": " + message.text()};
  }
  return {ErrorKind::PeerLost, "mpirun has ended: " + launcher_.last_words()};
}

std::string RankWatch::name_of(int rank) const {
  const RankState state = server_.state(rank);
  const std::string& places = places_.at(static_cast<std::size_t>(rank));
  if (!state.greeted) return fmt::format("rank {} ({})", rank, places);
  return fmt::format("rank {} ({}, process {} on {})", rank, places, state.pid, state.host);
}

RunError RankWatch::loss_of(int rank, const std::string& why) const {
  std::int64_t examples = 0;  // who leads no loop counts none
  for (int r = 0; r < static_cast<int>(places_.size()); ++r) {
    examples = std::max(examples, server_.state(r).examples);
  }
  const std::int64_t step = examples / std::max<std::int64_t>(1, global_batch_);
  return {ErrorKind::PeerLost, fmt::format("{} was lost after about {} steps: {}{}", name_of(rank),
                                           step, why, where_its_output_is(rank))};
}

std::string RankWatch::where_its_output_is(int rank) const {
  const std::vector<std::string> lines = launcher_.last_lines(rank);
  if (lines.empty()) return "";
  return fmt::format("; its output is in {}, the end of it: {}", launcher_.log_of(rank).string(),
                     lines.back());
}

}  // namespace regatta
