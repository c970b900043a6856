// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/rank_work.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "harness/plan/layout.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/training_options.h"
#include "harness/ranks/allocation.h"
#include "harness/ranks/control_messages.h"
#include "harness/ranks/local_address.h"
#include "harness/ranks/rank_commands.h"
#include "harness/system/machine.h"
#include "harness/system/process.h"
#include "kernels/base/error.h"
#include "kernels/comm/grpc/grpc_credentials.h"
#include "kernels/comm/grpc/unix_sockets.h"
#include "kernels/comm/mpi/mpi_rendezvous.h"
#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::ranks {

void RankWork::join() {
  const workloads::Workload& workload = workloads::find_workload(request_.workload);
  if (placement_.placed == nullptr) placement_ = plan::place_without_data(request_);
  data_ = workloads::load_data(workload, plan::dataset_of(request_, workload),
                               plan::files_of(request_));
  plan::set_data_weights(placement_, workloads::data_weights_of(workload, data_.train));
  check(own() < parts().size(), "there is a part for each rank");
  log_line(fmt::format("rank {} of {}, process {}: {}", rank_, placement_.processes, getpid(),
                       plan::places_text(parts()[own()])));
  control::FromRank message;
  message.mutable_join()->set_exchange_address(open_exchange());
  message.mutable_join()->set_cores(
      static_cast<int>(system::available_cores(request_.cores).size()));
  set_fingerprint(*message.mutable_join(),
                  plan::fingerprint_of(request_, placement_, placement_.placed->step, data_.train,
                                       system::software_facts()));
  client_.send(message);
}

/// Opens the exchange. Returns its address; empty if this rank serves nowhere.
std::string RankWork::open_exchange() {
  if (!plan::needs_exchange(parts())) return "";
  peers_ = plan::exchange_peers(parts()[own()]);
  comm::ExchangeOptions options;
  options.run = identity_of_this_run();
  options.process = rank_;
  options.processes = placement_.processes;
  const std::string coordinator = variable_or(kCoordinatorVariable, "");
  options.listen = comm::is_unix(coordinator) ? comm::folder_of_socket(coordinator)
                                              : address_towards(coordinator);
  options.tls = comm::tls_files_in(request_.tls);
  const bool serves = !peers_.empty() && *peers_.rbegin() > rank_;
  if (serves) comm::check_tls(options.tls, options.listen);
  exchange_ = std::make_unique<comm::GrpcExchange>(options);
  return serves ? exchange_->serve() : "";
}

void RankWork::start(const control::Start& start) {
  const std::vector<int> all = system::available_cores(request_.cores);
  ExecutorOptions options = plan::executor_options(request_, placement_, data_.train, rank_);
  const plan::CoreShare share{.first_worker = start.first_worker(),
                              .workers = plan::workers_in(placement_, rank_),
                              .workers_on_host = start.workers_on_host()};
  options.cores = plan::cores_of(share, all);
  options.threads_per_worker =
      share.workers == 0 ? 1
                         : plan::threads_per_worker({.workers = share.workers_on_host,
                                                     .cores = static_cast<int>(all.size())});
  std::unique_ptr<run::Backend> backend = run::make_backend(
      plan::device_of(placement_, rank_, request_.device), start.process_on_host());
  control::FromRank message;
  message.mutable_ready()->set_gpu(backend->gpu == nullptr ? "" : backend->gpu->gpu());
  if (plan::needs_mpi(parts())) {
    if (mpi_ == nullptr) mpi_ = open_session(placement_.processes);
    if (placement_.by_nccl) {
      backend->add(
          std::make_unique<comm::NcclTransport>(std::make_unique<comm::MpiRendezvous>(*mpi_)));
    } else {
      backend->add(std::make_unique<comm::MpiTransport>(*mpi_));
    }
  }
  if (exchange_ != nullptr) {
    for (int peer : peers_) {
      if (peer > rank_) continue;
      check(peer < start.exchange_addresses_size(), "a rank is told where its servers are");
      exchange_->connect(peer, start.exchange_addresses(peer));
    }
    backend->add(std::move(exchange_));
    backend->tickets = std::make_unique<comm::TicketMessages>(parts()[own()], backend->kernels);
    options.rules.tickets = backend->tickets.get();
  }
  trainer_ =
      std::make_unique<run::LocalTrainer>(parts()[own()], std::move(backend), options, rank_);
  trainer_->connect();
  started_ = true;
  client_.beat([this] {
    control::Beat progress;
    progress.set_examples(trainer_->examples_seen());
    if (const auto loss = trainer_->latest_loss()) progress.set_loss(*loss);
    return progress;
  });
  client_.send(message);
}

void RankWork::advance(const control::Advance& advance) {
  trainer_->advance_to(advance.examples());
  send_advanced();
}

void RankWork::send_advanced() {
  control::FromRank message;
  message.mutable_advanced()->set_examples(trainer_->examples_seen());
  client_.send(message);
}

void RankWork::send_variables(const control::SendVariables& wanted) {
  for (VariableId v : wanted.variables()) {
    send_pieces(v, trainer_->variable(v), [this](control::Piece piece) {
      control::FromRank message;
      *message.mutable_piece() = std::move(piece);
      client_.send(message);
    });
  }
}

void RankWork::take_piece(const control::Piece& piece) {
  const auto variables = static_cast<VariableId>(parts()[own()].graph.variables().size());
  const auto size = static_cast<std::int64_t>(piece.data().size());
  const bool known = piece.variable() >= 0 && piece.variable() < variables;
  const Tensor tensor = known ? trainer_->variable(piece.variable()).tensor : Tensor{};
  if (!known || piece.offset() < 0 || piece.offset() > tensor.type.bytes() - size) {
    throw RunError(ErrorKind::PeerLost, "the coordinator sent values of no variable of this rank");
  }
  std::memcpy(tensor.as<char>() + piece.offset(), piece.data().data(), piece.data().size());
  trainer_->set_version(piece.variable(), piece.version());
}

void RankWork::begin_at(const control::BeginAt& begin) {
  trainer_->begin_at(positions_in(begin));
  send_advanced();
}

void RankWork::send_the_report(const control::SendReport& wanted) {
  if (wanted.settle_arrivals()) trainer_->settle_arrivals();
  send_report(trainer_->report(), [this](const auto& message) { client_.send(message); });
}

void RankWork::on_interrupt(const control::ToRank& command) {
  if (command.has_stop()) {
    stopped_ = true;
    if (started_) trainer_->interrupt({ErrorKind::PeerLost, command.stop().reason()});
    return;
  }
  const control::Lost& lost = command.lost();
  log_line(fmt::format("goes on without process {}: {}", lost.process(), lost.reason()));
  if (started_) trainer_->lose(lost.process(), lost.reason());
}

void RankWork::tell_time() {
  control::FromRank message;
  message.mutable_time()->set_steady_ns(now_ns());
  client_.send(message);
}

void RankWork::send_the_trace() {
  ProcessTrace trace;
  if (trainer_) trace = std::move(trainer_->traces().front());
  send_trace(trace, [this](const auto& message) { client_.send(message); });
}

bool RankWork::handle(const control::ToRank& command) {
  switch (command.body_case()) {
    case control::ToRank::kStart: start(command.start()); break;
    case control::ToRank::kAdvance: advance(command.advance()); break;
    case control::ToRank::kSendVariables: send_variables(command.send_variables()); break;
    case control::ToRank::kPiece: take_piece(command.piece()); break;
    case control::ToRank::kBeginAt: begin_at(command.begin_at()); break;
    case control::ToRank::kSendReport: send_the_report(command.send_report()); break;
    case control::ToRank::kTellTime: tell_time(); break;
    case control::ToRank::kSendTrace: send_the_trace(); break;
    case control::ToRank::kEnd: return false;
    case control::ToRank::kLost:
    case control::ToRank::kStop:
    case control::ToRank::BODY_NOT_SET: break;
  }
  return true;
}

}  // namespace regatta::ranks
