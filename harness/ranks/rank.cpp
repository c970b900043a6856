// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>

#include "harness/plan/engine_rule.h"
#include "harness/plan/layout.h"
#include "harness/plan/training_options.h"
#include "harness/ranks/allocation.h"
#include "harness/ranks/control_client.h"
#include "harness/ranks/control_messages.h"
#include "harness/ranks/local_address.h"
#include "harness/ranks/open_mpi.h"
#include "harness/ranks/own_address.h"
#include "harness/ranks/rank_commands.h"
#include "harness/run/local_trainer.h"
#include "harness/system/machine.h"
#include "harness/system/process.h"
#include "harness/system/slurm_job.h"
#include "kernels/comm/grpc/grpc_credentials.h"
#include "kernels/comm/grpc/grpc_exchange.h"
#include "kernels/comm/mpi/mpi_rendezvous.h"
#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/comm/nccl/nccl_settings.h"
#include "kernels/comm/nccl/nccl_transport.h"
#include "kernels/graph/error.h"
#include "kernels/graph/partition.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

std::string variable_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// Where it listens: on the way to the coordinator or, before that is known to a member of an
/// allocation, to --listen or another host. Empty: no way is known.
std::string address_of_this_rank(const RaceRequest& request) {
  std::string to = variable_or(kCoordinatorVariable, "");
  if (to.empty()) to = (request.listen.empty() ? other_host_of_slurm_job() : request.listen) + ":1";
  try {
    return address_towards(to);
  } catch (const RunError&) {
    return "";
  }
}

RunIdentity identity_of_this_run() {
  return {.run_id = variable_or(kRunIdVariable, ""), .token = variable_or(kTokenVariable, "")};
}

int number_of_this_rank() {
  if (const auto rank = rank_in_allocation()) return *rank;
  throw RunError(
      ErrorKind::Usage,
      "REGATTA_COORDINATOR is set, but mpirun has not started this process; fix: unset it");
}

/// Nothing where the coordinator says what is wrong with it. A failure of this rank would make
/// mpirun end it before it has.
std::optional<int> processes_of(const RaceRequest& request) {
  try {
    const int processes = place_without_data(request).processes;
    if (is_member_of_allocation() && allocated_processes() != processes) return std::nullopt;
    return processes;
  } catch (const RunError&) {
    return std::nullopt;
  }
}

control::Hello hello() {
  control::Hello hello;
  hello.set_rank(number_of_this_rank());
  hello.set_host(host_name());
  hello.set_pid(getpid());
  return hello;
}

class Rank {
 public:
  /// `session`: of an allocation that was joined, or null.
  Rank(const RaceRequest& request, ControlClient& client, std::unique_ptr<MpiSession> session)
      : request_(request),
        client_(client),
        rank_(number_of_this_rank()),
        mpi_(std::move(session)) {}

  /// The part of the graph and what must agree.
  void join();
  void start(const control::Start& start);
  void advance(const control::Advance& advance);
  void send_variables(const control::SendVariables& wanted);
  void take_piece(const control::Piece& piece);
  void begin_at(const control::BeginAt& begin);
  void send_the_report(const control::SendReport& wanted);
  /// Of a loss, or that it has to stop. Threads: any.
  void hear(const control::ToRank& command);
  void tell_time();
  void send_the_trace();

 private:
  std::size_t own() const { return static_cast<std::size_t>(rank_); }
  std::string open_exchange();
  void send_advanced();

  RaceRequest request_;
  ControlClient& client_;
  int rank_;
  DataSets data_;
  Placement placement_;
  std::vector<Step> parts_;  ///< of all processes: this one's is run, others say who talks to it
  std::set<int> peers_;      ///< processes that it exchanges messages with
  std::unique_ptr<GrpcExchange> exchange_;
  std::unique_ptr<MpiSession> mpi_;
  std::unique_ptr<LocalTrainer> trainer_;  // before the session goes
  std::atomic<bool> stopped_{false};       ///< the run has failed
  std::atomic<bool> started_{false};       ///< the trainer is there
};

void Rank::join() {
  const Workload& workload = find_workload(request_.workload);
  data_ = load_data(workload, dataset_of(request_, workload), files_of(request_));
  placement_ = place(request_, data_.train.count);
  placement_.recipe.data_weights = data_weights_of(workload, data_.train);
  const Step placed = placed_step(placement_);
  parts_ = partition(placed, binding_of(placement_));
  check(own() < parts_.size(), "there is a part for each rank");
  say(fmt::format("rank {} of {}, process {}: {}", rank_, placement_.processes, getpid(),
                  places_text(parts_[own()])));
  control::FromRank message;
  message.mutable_join()->set_exchange_address(open_exchange());
  message.mutable_join()->set_cores(static_cast<int>(available_cores(request_.threads).size()));
  set_fingerprint(*message.mutable_join(),
                  fingerprint_of(request_, placement_, placed, data_.train, software_facts()));
  client_.send(message);
}

/// Returns where it serves; empty: nowhere.
std::string Rank::open_exchange() {
  if (!needs_exchange(parts_)) return "";
  peers_ = exchange_peers(parts_[own()]);
  ExchangeOptions options;
  options.run = identity_of_this_run();
  options.process = rank_;
  options.processes = placement_.processes;
  options.listen = address_towards(variable_or(kCoordinatorVariable, ""));
  options.tls = exchange::tls_files_in(request_.tls);
  const bool serves = !peers_.empty() && *peers_.rbegin() > rank_;
  if (serves) exchange::check_tls(options.tls, options.listen);
  exchange_ = std::make_unique<GrpcExchange>(options);
  return serves ? exchange_->serve() : "";
}

void Rank::start(const control::Start& start) {
  const std::vector<int> all = available_cores(request_.threads);
  ExecutorOptions options = executor_options(request_, placement_, data_.train, rank_);
  const CoreShare share{.first_worker = start.first_worker(),
                        .workers = workers_in(placement_, rank_),
                        .workers_on_host = start.workers_on_host()};
  options.cores = cores_of(share, all);
  options.threads_per_worker = share.workers == 0
                                   ? 1
                                   : threads_per_worker({.workers = share.workers_on_host,
                                                         .cores = static_cast<int>(all.size())});
  std::unique_ptr<Backend> backend =
      make_backend(device_of(placement_, rank_, request_.device),
                   {.process_on_host = start.process_on_host(), .engines = engines_of(placement_)});
  control::FromRank message;
  message.mutable_ready()->set_gpu(backend->gpu());
  if (needs_mpi(parts_)) {
    if (mpi_ == nullptr) mpi_ = open_session(placement_.processes);
    if (placement_.by_nccl) {
      backend->add(std::make_unique<NcclTransport>(std::make_unique<MpiRendezvous>(*mpi_)));
    } else {
      backend->add(std::make_unique<MpiTransport>(*mpi_));
    }
  }
  if (exchange_ != nullptr) {
    for (int peer : peers_) {
      if (peer > rank_) continue;
      check(peer < start.exchange_addresses_size(), "a rank is told where its servers are");
      exchange_->connect(peer, start.exchange_addresses(peer));
    }
    backend->add(std::move(exchange_));
    backend->tickets = std::make_unique<TicketMessages>(parts_[own()], backend->kernels);
    options.tickets = backend->tickets.get();
  }
  trainer_ = std::make_unique<LocalTrainer>(parts_[own()], std::move(backend), options, rank_);
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

void Rank::advance(const control::Advance& advance) {
  trainer_->advance_to(advance.examples());
  send_advanced();
}

void Rank::send_advanced() {
  control::FromRank message;
  message.mutable_advanced()->set_examples(trainer_->examples_seen());
  client_.send(message);
}

void Rank::send_variables(const control::SendVariables& wanted) {
  for (VariableId v : wanted.variables()) {
    send_pieces(v, trainer_->variable(v), [this](control::Piece piece) {
      control::FromRank message;
      *message.mutable_piece() = std::move(piece);
      client_.send(message);
    });
  }
}

void Rank::take_piece(const control::Piece& piece) {
  const auto variables = static_cast<VariableId>(parts_[own()].graph.variables().size());
  const auto size = static_cast<std::int64_t>(piece.data().size());
  const bool known = piece.variable() >= 0 && piece.variable() < variables;
  const Tensor tensor = known ? trainer_->variable(piece.variable()).tensor : Tensor{};
  if (!known || piece.offset() < 0 || piece.offset() > tensor.type.bytes() - size) {
    throw RunError(ErrorKind::PeerLost, "the coordinator sent values of no variable of this rank");
  }
  std::memcpy(tensor.as<char>() + piece.offset(), piece.data().data(), piece.data().size());
  trainer_->set_version(piece.variable(), piece.version());
}

void Rank::begin_at(const control::BeginAt& begin) {
  trainer_->begin_at(positions_in(begin));
  send_advanced();
}

void Rank::send_the_report(const control::SendReport& wanted) {
  if (wanted.settle_arrivals()) trainer_->settle_arrivals();
  send_report(trainer_->report(), [this](const auto& message) { client_.send(message); });
}

void Rank::hear(const control::ToRank& command) {
  if (command.has_stop()) {
    stopped_ = true;
    if (started_) trainer_->interrupt({ErrorKind::PeerLost, command.stop().reason()});
    return;
  }
  const control::Lost& lost = command.lost();
  say(fmt::format("goes on without process {}: {}", lost.process(), lost.reason()));
  if (started_) trainer_->lose(lost.process(), lost.reason());
}

void Rank::tell_time() {
  control::FromRank message;
  message.mutable_time()->set_steady_ns(now_ns());
  client_.send(message);
}

void Rank::send_the_trace() {
  ProcessTrace trace;
  if (trainer_) trace = std::move(trainer_->traces().front());
  send_trace(trace, [this](const auto& message) { client_.send(message); });
}

/// Returns false at the end of the run.
bool obey(Rank& rank, const control::ToRank& command) {
  switch (command.body_case()) {
    case control::ToRank::kStart: rank.start(command.start()); break;
    case control::ToRank::kAdvance: rank.advance(command.advance()); break;
    case control::ToRank::kSendVariables: rank.send_variables(command.send_variables()); break;
    case control::ToRank::kPiece: rank.take_piece(command.piece()); break;
    case control::ToRank::kBeginAt: rank.begin_at(command.begin_at()); break;
    case control::ToRank::kSendReport: rank.send_the_report(command.send_report()); break;
    case control::ToRank::kTellTime: rank.tell_time(); break;
    case control::ToRank::kSendTrace: rank.send_the_trace(); break;
    case control::ToRank::kEnd: return false;
    case control::ToRank::kLost:
    case control::ToRank::kStop:
    case control::ToRank::BODY_NOT_SET: break;
  }
  return true;
}

void report_trouble(ControlClient& client, const RunError& error) {
  say(error.what());  // first, so that it is in the log by the time that the coordinator reads it
  control::FromRank message;
  message.mutable_trouble()->set_kind(std::string(to_string(error.kind())));
  message.mutable_trouble()->set_text(error.what());
  client.send(message);
}

/// Reports an error instead of throwing it; the coordinator decides what becomes of the run.
template <typename Function>
void guarded(ControlClient& client, Function function) {
  try {
    function();
  } catch (const RunError& error) {
    report_trouble(client, error);
  } catch (const std::bad_alloc&) {
    report_trouble(client, {ErrorKind::Unsupported, kNotEnoughMemory});
  }
}

}  // namespace

bool is_rank() { return std::getenv(kCoordinatorVariable) != nullptr || is_member_of_allocation(); }

int serve_as_rank(const RaceRequest& request) {
  std::signal(SIGPIPE, SIG_IGN);  // a broken connection is an error of a call, which names its peer
  const Reach reach = reach_of_ranks();
  const std::string own_address = address_of_this_rank(request);
  choose_links(reach, own_address);
  std::unique_ptr<MpiSession> session;
  if (joins_allocation()) {
    const std::optional<int> processes = processes_of(request);
    if (!processes) return 0;
    session = join_allocation(*processes);
    if (variable_or(kCoordinatorVariable, "").empty()) return 0;  // it says why
  }
  RaceRequest told = request;
  told.picked = variable_or(kPickedVariable, "");
  told.replicas_on_host = std::atoll(variable_or(kReplicasOnHostVariable, "0").c_str());
  // While no other thread reads the environment. Ranks that the coordinator starts have it from
  // there.
  std::optional<PinnedNcclAlgorithm> pinned;
  std::optional<PinnedNcclInterface> interface;
  if (const auto algorithm = nccl_algorithm(request)) {
    pinned.emplace(*algorithm);
    interface.emplace(interface_with(reach == Reach::ThisHost ? kLoopback : own_address));
  }
  ControlClient client(variable_or(kCoordinatorVariable, ""), identity_of_this_run(), hello(),
                       exchange::tls_files_in(request.tls));
  // At the end of its job Slurm signals all processes; the coordinator's word ends this one.
  if (is_started_by_srun()) std::signal(SIGTERM, SIG_IGN);
  {
    Rank rank(told, client, std::move(session));
    RankCommands commands(client, [&rank](const auto& command) { rank.hear(command); });
    guarded(client, [&] { rank.join(); });
    for (bool goes_on = true; goes_on;) {
      const control::ToRank command = commands.next();
      guarded(client, [&] { goes_on = obey(rank, command); });
    }
    client.beat({});  // the trainer it asks is about to go
  }
  client.finish();
  return 0;
}

}  // namespace regatta
