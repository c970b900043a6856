// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_exchange.h"

#include <grpcpp/generic/async_generic_service.h>

#include <chrono>
#include <optional>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/comm/grpc/frame.h"
#include "kernels/comm/grpc/grpc_channel.h"
#include "kernels/comm/grpc/grpc_client_stream.h"
#include "kernels/comm/grpc/grpc_hello.h"
#include "kernels/comm/grpc/grpc_kernels.h"
#include "kernels/comm/grpc/grpc_server_stream.h"
#include "kernels/comm/grpc/published.h"
#include "kernels/distribute/partition.h"

namespace regatta::comm {
namespace {

constexpr std::chrono::seconds kPolite(2);   // for the peer to take queued messages
constexpr std::chrono::seconds kCancel(10);  // more than gRPC needs to notice a dead peer

/// Whether the node receives gradients from a worker at a server.
bool is_push(const Node& node) {
  return node.op == Op::Receive && node.place.role == Role::Server && node.attributes.has("from") &&
         sender_of(node).role == Role::Worker;
}

}  // namespace

class GrpcExchange::State final : public grpc::CallbackGenericService {
 public:
  State(const ExchangeOptions& options, Accounts& accounts)
      : options_(options),
        hello_{.run = options.run, .process = options.process},
        accounts_(accounts) {
    prepare_process();
    const RunId run_id = run_id_from_hex(options.run.run_id);
    if (options.run.token.empty()) throw RunError(ErrorKind::Usage, "an exchange needs a token");
    for (int peer = 0; peer < options.processes; ++peer) {
      links_.push_back(std::make_shared<Link>(
          LinkEnds{.run_id = run_id, .process = options.process, .peer = peer}));
    }
  }

  std::string serve(int port) {
    listener_ = listen(
        {.listen = options_.listen,
         .name = "rank" + std::to_string(options_.process),
         .port = port,
         .tls = options_.tls,
         .limits = options_.limits},
        [this](grpc::ServerBuilder& builder) { builder.RegisterCallbackGenericService(this); });
    set_up_.publish();
    return listener_.address;
  }

  void connect(int process, const std::string& address) {
    check(process < options_.process, "the lower process serves, the higher connects");
    const auto link = this->link(process);
    const auto stream = start_client_stream(
        comm::connect({.address = address, .tls = options_.tls, .limits = options_.limits}), link,
        hello_);
    check(stream != nullptr, "a link is connected once");
    const bool answered =
        link->wait_until_open({.limit_ns = std::int64_t{options_.connect_limit_ms} * 1'000'000});
    if (answered && !link->is_lost()) return;
    if (!answered) {
      link->lose("no answer within " + std::to_string(options_.connect_limit_ms) + " ms");
    }
    stream->cancel();
    throw RunError(ErrorKind::PeerLost, "cannot connect to process " + std::to_string(process) +
                                            " at " + address + ": " + link->reason());
  }

  /// Decides about a call, by a stranger or by a process of this run. Threads: gRPC's.
  ServerReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    set_up_.see();
    if (context->method() != kMethod) {
      return refuse_call({grpc::StatusCode::UNIMPLEMENTED, "no such method"});
    }
    const Caller caller = check_caller(*context, hello_, options_.processes);
    if (!caller.status.ok()) return refuse_call(caller.status);
    ServerReactor* const reactor = start_server_stream(*context, link(caller.process));
    if (reactor != nullptr) return reactor;
    return refuse_call({grpc::StatusCode::ALREADY_EXISTS,
                        "process " + std::to_string(caller.process) + " was connected before"});
  }

  std::unique_ptr<Kernel> build(const KernelRequest& request) {
    const auto peer = static_cast<int>(request.node.attributes.integer("peer"));
    check(peer != options_.process, "a message goes to another process");
    auto& accounts = request.node.attributes.has("control") ? control_ : accounts_;
    Account& account = accounts.open(request.node.place);
    if (request.node.op == Op::Send) {
      return make_send(request, options_, link(peer), account.traffic);
    }
    std::optional<PushAccount> push;
    if (is_push(request.node)) {
      const Place& server = request.node.place;
      PushLedger& ledger = ledgers_.try_emplace(server, server).first->second;
      push.emplace(PushAccount{.ledger = ledger, .times = account.times.emplace()});
    }
    return make_receive(request, options_, link(peer), account.traffic, push);
  }

  void add_pushes(ExchangeTimesByPlace& all) const {
    for (const auto& [place, ledger] : ledgers_) ledger.add_to(all);
  }

  void lose(int process, const std::string& reason) {
    const auto link = this->link(process);
    link->lose(reason);
    if (const auto stream = link->stream()) stream->cancel();
  }

  void close() {
    for (const auto& link : links_) {
      if (const auto stream = link->stream()) {
        stream->close();
      } else {
        link->lose("this process closed its exchange");
      }
    }
    for (const auto& link : links_) end(*link);
    if (listener_.server == nullptr) return;
    listener_.server->Shutdown(std::chrono::system_clock::now());
    listener_.server->Wait();
    listener_.server.reset();
  }

 private:
  static void end(Link& link) {
    const std::shared_ptr<Stream> stream = link.stream();
    if (stream == nullptr) return;
    bool over = stream->wait_until_over(kPolite);
    if (!over) {
      stream->cancel();
      over = stream->wait_until_over(kCancel);
    }
    if (!over) return;  // the stream keeps itself and the link for as long as gRPC needs them
    link.let_go();
    stream->let_go();
  }

  std::shared_ptr<Link> link(int process) const {
    return links_.at(static_cast<std::size_t>(process));
  }

  const ExchangeOptions options_;
  const Hello hello_;
  std::vector<std::shared_ptr<Link>> links_;  ///< by process
  Accounts& accounts_;                        ///< of messages with values
  Accounts control_;                          ///< of tickets, which are not reported
  std::map<Place, PushLedger> ledgers_;       ///< by server
  Listener listener_;
  Published set_up_;
};

GrpcExchange::GrpcExchange(const ExchangeOptions& options)
    : state_(std::make_unique<State>(options, accounts())) {}
GrpcExchange::~GrpcExchange() { state_->close(); }

std::string GrpcExchange::serve(int port) { return state_->serve(port); }
void GrpcExchange::connect(int process, const std::string& address) {
  state_->connect(process, address);
}
void GrpcExchange::add_kernels(KernelTable& table) {
  for (const Op op : {Op::Send, Op::Receive}) {
    table.add(op, [state = state_.get(), others = table.factory(op)](const KernelRequest& request) {
      const bool is_own =
          !others || request.node.attributes.has("control") || is_of_server(request.node);
      return is_own ? state->build(request) : others(request);
    });
  }
}
ExchangeTimesByPlace GrpcExchange::exchange_times() const {
  ExchangeTimesByPlace all = Transport::exchange_times();
  state_->add_pushes(all);
  return all;
}
void GrpcExchange::lose(int process, const std::string& reason) { state_->lose(process, reason); }
void GrpcExchange::close() { state_->close(); }

}  // namespace regatta::comm
