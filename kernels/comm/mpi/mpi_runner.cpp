// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/comm/backoff.h"
#include "kernels/comm/collective/element_sums.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

bool completed(MpiRequest& request) {
  bool done = false;
  mpi_call(mpi().test(request, done), "MPI_Test");
  return done;
}

}  // namespace

/// The state of one run: how many of the schedule's transfers have passed each phase, in order.
class MpiRunner::Turn {
 public:
  Turn(MpiRunner& runner, const Patience& patience, const Observer& observer)
      : runner_(runner), patience_(patience), observer_(observer), backoff_(patience) {}

  bool finished() const { return received_ == receives() && retired_ == sends(); }

  void go_on() {
    const bool posted = post();
    const bool started = start();
    const bool retired = retire();
    if (take() || posted || started || retired) {
      if (waiting_) observer_.peer_waits->end(ticks());
      waiting_ = false;
      backoff_.reset();
    } else {
      wait();
    }
  }

 private:
  std::int64_t sends() const { return std::ssize(runner_.sends_); }
  std::int64_t receives() const { return std::ssize(runner_.receives_); }
  const ScheduledSend& send(std::int64_t i) const { return runner_.schedule_.sends[at(i)]; }
  const ScheduledReceive& receive(std::int64_t i) const {
    return runner_.schedule_.receives[at(i)];
  }
  std::int64_t bytes_of(Range range) const { return runner_.bytes_of(range.size()); }
  int mpi_bytes_of(Range chunk) const { return static_cast<int>(bytes_of(chunk)); }
  std::uint64_t total(const Transfer& transfer) const {
    return runner_.round_ * transfer.per_run + transfer.number;
  }

  /// Posts receives as far ahead as options and unfinished sends from the same memory allow.
  bool post() {
    const std::int64_t before = posted_;
    while (posted_ < receives() && posted_ - received_ < runner_.options_.receives_in_flight &&
           receive(posted_).after_sends <= retired_) {
      Transfer& transfer = runner_.receives_[at(posted_)];
      if (remote(transfer)) {
        mpi_call(mpi().irecv(runner_.landing(posted_), mpi_bytes_of(receive(posted_).range),
                             transfer.link->process, transfer.link->receive_tag,
                             runner_.options_.communicator, transfer.request),
                 "MPI_Irecv");
        ++receives_under_way_;
      }
      ++posted_;
    }
    return posted_ > before;
  }

  bool start() {
    const std::int64_t before = started_;
    for (; started_ < sends() && send(started_).after_receives <= received_; ++started_) {
      Transfer& transfer = runner_.sends_[at(started_)];
      const Range range = send(started_).range;
      if (!remote(transfer)) {
        transfer.link->out->offered.advance_to(total(transfer));
      } else {
        if (sends_under_way_ == runner_.options_.sends_in_flight) break;
        mpi_call(mpi().isend(runner_.options_.buffer + runner_.bytes_of(range.begin),
                             mpi_bytes_of(range), transfer.link->process, transfer.link->send_tag,
                             runner_.options_.communicator, transfer.request),
                 "MPI_Isend");
        ++sends_under_way_;
      }
      observer_.traffic->sent += bytes_of(range);
    }
    return started_ > before;
  }

  bool retire() {
    const std::int64_t before = retired_;
    for (; retired_ < started_; ++retired_) {
      Transfer& transfer = runner_.sends_[at(retired_)];
      if (!remote(transfer)) {
        if (transfer.link->out->taken.value() < total(transfer)) break;
      } else {
        if (!completed(transfer.request)) break;
        --sends_under_way_;
      }
    }
    return retired_ > before;
  }

  /// Takes at most one chunk, so that transfers that depend on it start at once.
  bool take() {
    if (received_ == posted_) return false;
    Transfer& transfer = runner_.receives_[at(received_)];
    const ScheduledReceive& next = receive(received_);
    if (remote(transfer)) {
      if (!completed(transfer.request)) return false;
      --receives_under_way_;
      if (next.taking == Taking::Add) take_from(next, runner_.landing(received_));
    } else {
      if (transfer.link->in->offered.value() < total(transfer)) return false;
      take_from(next, transfer.link->in->buffer + runner_.bytes_of(next.range.begin));
      transfer.link->in->taken.advance_to(total(transfer));
    }
    ++received_;
    observer_.traffic->received += bytes_of(next.range);
    observer_.traffic->messages += next.ends_message ? 1 : 0;
    return true;
  }

  void take_from(const ScheduledReceive& next, const std::byte* part) {
    std::byte* own = runner_.options_.buffer + runner_.bytes_of(next.range.begin);
    if (next.taking == Taking::Add) {
      add_elements(runner_.options_.element, own, part, next.range.size());
    } else {
      std::memcpy(own, part, at(bytes_of(next.range)));
    }
  }

  bool awaits_receive() const { return received_ < posted_; }

  /// Waits for progress. Time counts as waiting for peers before a message's first chunk and at the
  /// end, while others read the buffer; the chunks in between are already under way.
  void wait() {
    if (!waiting_ && (!awaits_receive() || receive(received_).begins_message)) {
      observer_.peer_waits->begin(ticks());
      waiting_ = true;
    }
    const bool polls = sends_under_way_ + receives_under_way_ > 0;
    if (polls ? backoff_.wait() : sleep()) return;
    const std::int64_t other = awaits_receive() ? receive(received_).from : send(retired_).to;
    throw RunError(ErrorKind::Timeout, runner_.options_.name + " waited in vain for member " +
                                           std::to_string(other) + " in process " +
                                           std::to_string(runner_.links_.at(other).process));
  }

  /// Sleeps until a member of this process wakes this one; used if no other member is awaited.
  bool sleep() {
    check(awaits_receive() || retired_ < started_, "a schedule that waits, waits for somebody");
    if (awaits_receive()) {
      const Transfer& transfer = runner_.receives_[at(received_)];
      return transfer.link->in->offered.wait_for(total(transfer), patience_);
    }
    const Transfer& transfer = runner_.sends_[at(retired_)];
    return transfer.link->out->taken.wait_for(total(transfer), patience_);
  }

  MpiRunner& runner_;
  const Patience& patience_;
  const Observer& observer_;
  Backoff backoff_;
  bool waiting_ = false;
  std::int64_t posted_ = 0;
  std::int64_t received_ = 0;
  std::int64_t started_ = 0;
  std::int64_t retired_ = 0;
  int receives_under_way_ = 0;  ///< by MPI; the same for sends below
  int sends_under_way_ = 0;
};

MpiRunner::MpiRunner(MessageSchedule schedule, std::map<std::int64_t, MpiLink> links,
                     MpiRunnerOptions options)
    : schedule_(std::move(schedule)),
      links_(std::move(links)),
      options_(std::move(options)),
      element_bytes_(size_of(options_.element)) {
  std::map<const MpiLink*, std::uint64_t> sent;
  std::map<const MpiLink*, std::uint64_t> received;
  for (const ScheduledSend& send : schedule_.sends) {
    MpiLink& link = links_.at(send.to);
    sends_.push_back({.link = &link, .number = ++sent[&link]});
  }
  std::int64_t largest = 0;
  for (const ScheduledReceive& receive : schedule_.receives) {
    MpiLink& link = links_.at(receive.from);
    receives_.push_back({.link = &link, .number = ++received[&link]});
    if (receive.taking == Taking::Add && remote(receives_.back())) {
      largest = std::max(largest, receive.range.size());
    }
  }
  for (Transfer& transfer : sends_) transfer.per_run = sent.at(transfer.link);
  for (Transfer& transfer : receives_) transfer.per_run = received.at(transfer.link);
  for (const auto& [member, link] : links_) {
    if (link.out != nullptr) link.out->buffer = options_.buffer;
  }
  staging_elements_ = largest;
  staging_.resize(at(bytes_of(largest)) * at(options_.receives_in_flight));
}

MpiRunner::~MpiRunner() {
  for (Transfer& transfer : receives_) {
    if (transfer.request == MpiRequest{}) continue;
    mpi().cancel(transfer.request);
    mpi().request_free(transfer.request);
  }
  for (Transfer& transfer : sends_) {
    if (transfer.request != MpiRequest{}) mpi().request_free(transfer.request);
  }
}

/// The address that MPI writes a chunk to: the buffer, or staging memory if it is to be added.
std::byte* MpiRunner::landing(std::int64_t receive) {
  const ScheduledReceive& scheduled = schedule_.receives[at(receive)];
  if (scheduled.taking == Taking::Copy) {
    return options_.buffer + bytes_of(scheduled.range.begin);
  }
  return staging_.data() + (receive % options_.receives_in_flight) * bytes_of(staging_elements_);
}

void MpiRunner::run(const Patience& patience, const Observer& observer) {
  Turn turn(*this, patience, observer);
  while (!turn.finished()) turn.go_on();
  ++round_;
}

}  // namespace regatta::comm
