// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/rank_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <numeric>

#include "harness/ranks/control_messages.h"

namespace regatta::ranks {
namespace {

constexpr std::chrono::milliseconds kMostOfALook{250};
constexpr std::chrono::seconds kComingLimit{30};  // until a rank connects
constexpr std::ptrdiff_t kLinesShown = 5;

/// The likely cause and the fix for a death whose description has only a signal.
std::string advice_on(const std::string& words) {
  const auto says = [&](int signal) {
    return words.find(fmt::format("signal {} ", signal)) != words.npos;
  };
  if (says(SIGKILL)) {
    return "; if it was not killed by hand, memory ran out (dmesg tells); fix: fewer --workers, or "
           "a smaller --global-batch";
  }
  if (says(SIGTERM) || says(SIGINT))
    return "; a person or a program ended it; fix: start the run again";
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
    if (says(signal)) return "; that is a bug of Regatta or of a library that it uses";
  }
  return "";
}

/// True for an error that other ranks report when one is lost.
bool is_consequence(const control::Trouble& trouble) {
  const ErrorKind kind = kind_of(trouble);
  return kind == ErrorKind::PeerLost || kind == ErrorKind::Timeout;
}

}  // namespace

std::optional<std::string> why_lost(const RankSigns& signs) {
  const auto silence_s = std::chrono::duration_cast<std::chrono::seconds>(kMostSilence).count();
  // A process that is stopped now has not ended, although it was missing before.
  const bool may_have_ended = signs.greeted || signs.stopped.count() == 0;
  const bool is_silent = signs.silence > kMostSilence && may_have_ended;
  if (signs.broken) return "its connection broke, so it has ended or its machine cannot be reached";
  if (signs.stopped > kMostSilence) {
    return fmt::format("it or mpirun was stopped for {} s before it {}", silence_s,
                       signs.greeted ? "was ready" : "joined the run");
  }
  if (is_silent && !signs.greeted) return "its process has ended before it joined the run";
  if (!signs.greeted && signs.coming > kComingLimit) {
    return fmt::format(
        "it has not joined the run within {} s, so it or mpirun is stuck, or its machine cannot "
        "be reached",
        kComingLimit.count());
  }
  if (!is_silent) return std::nullopt;
  return fmt::format("it has said nothing for {} s, so it is stopped or starved of its core",
                     silence_s);
}

RankWatch::RankWatch(const ControlServer& server, Launcher& launcher,
                     std::vector<std::string> places, std::int64_t global_batch)
    : server_(server),
      launcher_(launcher),
      places_(std::move(places)),
      global_batch_(global_batch),
      looked_(std::chrono::steady_clock::now()),
      beats_(places_.size()),
      silence_(places_.size()),
      coming_(places_.size()),
      stopped_(places_.size()),
      lost_(places_.size()) {}

void RankWatch::note(int rank, const control::Trouble& trouble) {
  troubles_.push_back({.rank = rank, .message = trouble});
}

bool RankWatch::look() {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds span =
      std::min<std::chrono::nanoseconds>(now - looked_, kMostOfALook);
  looked_ = now;
  const auto known = std::ssize(order_);
  std::vector<RankState> states;
  for (std::size_t r = 0; r < places_.size(); ++r) {
    states.push_back(server_.state(static_cast<int>(r)));
  }
  const std::vector<Presence> presence =
      all_ready_ ? std::vector<Presence>(places_.size()) : launcher_.presence();
  for (std::size_t r = 0; r < places_.size(); ++r) {
    const RankState& state = states[r];
    const bool speaks =
        state.greeted ? state.beats != beats_[r] : presence[r] == Presence::There;  // or to start
    if (!state.greeted) coming_[r] += span;
    silence_[r] = speaks ? std::chrono::nanoseconds(0) : silence_[r] + span;
    beats_[r] = state.beats;
    stopped_[r] = presence[r] == Presence::Stopped ? stopped_[r] + span : std::chrono::seconds(0);
    if (lost_[r]) continue;
    lost_[r] = why_lost({.greeted = state.greeted,
                         .broken = state.broken,
                         .coming = coming_[r],
                         .silence = silence_[r],
                         .stopped = stopped_[r]});
    if (lost_[r]) order_.push_back(static_cast<int>(r));
  }
  std::stable_sort(order_.begin() + known, order_.end(), [this](int a, int b) {
    return server_.state(a).ended_before < server_.state(b).ended_before;
  });
  return ends_the_run();
}

bool RankWatch::cannot_do_without_the_lost() const {
  const bool essential =
      std::any_of(order_.begin(), order_.end(), [this](int rank) { return rank < spared_from_; });
  return essential || workers_left() < workers_.needed;
}

/// Workers that are not lost, if the run may go on without some; otherwise the number needed.
std::int64_t RankWatch::workers_left() const {
  if (workers_.by_rank.empty()) return workers_.needed;
  std::int64_t left = std::accumulate(workers_.by_rank.begin(), workers_.by_rank.end(), 0);
  for (int rank : order_) left -= workers_.by_rank.at(static_cast<std::size_t>(rank));
  return left;
}

bool RankWatch::ends_the_run() const {
  const bool runs = launcher_.running();  // called in any case: it notes the death of mpirun
  if (!runs || cannot_do_without_the_lost()) return true;
  // A lost rank's error is the consequence of its loss.
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
  const bool ended = launcher_.is_silent() && !launcher_.running();
  // An earlier death that the run survived does not explain this failure.
  const bool matters = workers_.by_rank.empty() || cannot_do_without_the_lost();
  return told || ended ||
         (matters && (launcher_.first_death().has_value() || (!broke && !order_.empty())));
}

RunError RankWatch::cause() const {
  const RunError first = first_cause().error;
  if (workers_left() >= workers_.needed) return first;
  return {
      first.kind(),
      fmt::format("{}; {} of {} workers left, but a step needs {}", first.what(), workers_left(),
                  std::accumulate(workers_.by_rank.begin(), workers_.by_rank.end(), 0),
                  workers_.needed)};
}

RankWatch::Cause RankWatch::first_cause() const {
  for (const auto& [rank, message] : troubles_) {
    if (is_consequence(message)) continue;
    return {{kind_of(message), name_of(rank) + ": " + message.text()}, rank};
  }
  if (const auto death = launcher_.first_death()) {
    if (death->rank < static_cast<int>(places_.size()))
      return {loss_of(death->rank, "it " + death->words), death->rank};
  }
  for (int r = 0; r < static_cast<int>(places_.size()); ++r) {
    const std::vector<std::string> lines = launcher_.last_lines(r);
    if (launcher_.running() || server_.state(r).greeted || lines.empty()) continue;
    return {{ErrorKind::PeerLost, name_of(r) + " ended before it joined: " + lines.back()}, r};
  }
  if (const auto death = launcher_.death_of_mpirun()) {
    return {{ErrorKind::PeerLost, "mpirun, which holds the ranks of this run, " + *death +
                                      after_steps() + advice_on(*death)}};
  }
  if (launcher_.ended_without_a_word()) {
    return {{ErrorKind::PeerLost,
             "mpirun, which holds the ranks of this run, has ended them without a word" +
                 after_steps() + advice_on("signal 15 ") + who_had_not_joined()}};
  }
  if (!order_.empty()) {
    return {{ErrorKind::PeerLost, why(order_.front()) + who_had_not_joined()}, order_.front()};
  }
  for (const auto& [rank, message] : troubles_) {
    return {{kind_of(message), name_of(rank) + ": " + message.text()}, rank};
  }
  return {{ErrorKind::PeerLost, "mpirun has ended: " + launcher_.last_words()}};
}

std::vector<int> RankWatch::suspects() const {
  const int first = first_cause().rank;
  std::vector<int> ranks;
  for (int r = 0; r < static_cast<int>(places_.size()); ++r) {
    if (r == first || !server_.state(r).greeted) ranks.push_back(r);
  }
  return ranks;
}

std::vector<std::string> RankWatch::end_of_output(int rank) const {
  const std::vector<std::string> all = launcher_.last_lines(rank);
  std::vector<std::string> lines;
  for (auto line = all.end() - std::min(std::ssize(all), kLinesShown); line != all.end(); ++line) {
    lines.push_back(fmt::format("rank {}, {}: {}", rank, launcher_.log_of(rank).string(), *line));
  }
  return lines;
}

/// The ranks that have not joined: mpirun ends all ranks silently if one ends before mpirun's own
/// side of it is set up.
std::string RankWatch::who_had_not_joined() const {
  std::string text;
  for (int r = 0; r < static_cast<int>(places_.size()); ++r) {
    if (!server_.state(r).greeted && !is_lost(r)) text += (text.empty() ? "" : ", ") + name_of(r);
  }
  return text.empty() ? "" : "; this may be the consequence of who had not joined: " + text;
}

std::string RankWatch::name_of(int rank) const {
  const RankState state = server_.state(rank);
  const std::string& places = places_.at(static_cast<std::size_t>(rank));
  if (!state.greeted) return fmt::format("rank {} ({})", rank, places);
  return fmt::format("rank {} ({}, process {} on {})", rank, places, state.pid, state.host);
}

/// Formats as ` after about 12 steps`.
std::string RankWatch::after_steps() const {
  std::int64_t examples = 0;  // a rank that leads no loop counts none
  for (int r = 0; r < static_cast<int>(places_.size()); ++r) {
    examples = std::max(examples, server_.state(r).examples);
  }
  const std::int64_t step = examples / std::max<std::int64_t>(1, global_batch_);
  return fmt::format(" after about {} steps", step);
}

RunError RankWatch::loss_of(int rank, const std::string& why) const {
  return {ErrorKind::PeerLost, fmt::format("{} was lost{}: {}{}{}", name_of(rank), after_steps(),
                                           why, advice_on(why), where_its_output_is(rank))};
}

std::string RankWatch::where_its_output_is(int rank) const {
  const std::vector<std::string> lines = launcher_.last_lines(rank);
  if (lines.empty()) return "";
  // A library may print a stack after this program's own error line.
  const auto said = std::find_if(lines.rbegin(), lines.rend(), [](const std::string& line) {
    return line.starts_with("regatta: bug at ");
  });
  return fmt::format("; its output is in {}, the end of it: {}", launcher_.log_of(rank).string(),
                     said != lines.rend() ? *said : lines.back());
}

}  // namespace regatta::ranks
