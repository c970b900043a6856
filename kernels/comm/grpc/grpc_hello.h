// SPDX-License-Identifier: Apache-2.0
//
// Mutual identification of two processes before a stream carries data, as metadata of the call. The
// client sends protocol version, run id and token, and in an exchange its number. The server
// refuses with a text that gives the reason, or accepts, in an exchange with run id and its own
// number.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/grpc/grpc_link.h"

namespace regatta::exchange {

inline constexpr std::string_view kMethod = "/regatta.Exchange/Stream";

/// Adds a client's run and protocol to the call's metadata.
void say(const RunIdentity& run, std::string_view protocol, grpc::ClientContext& context);
/// OK if the caller belongs to the run and uses the protocol; else the reason for the refusal.
grpc::Status check_run(const grpc::ServerContextBase& context, const RunIdentity& run,
                       std::string_view protocol);

/// The run and the number of a process in an exchange.
struct Hello {
  RunIdentity run;
  int process = 0;
};

void say(const Hello& hello, grpc::ClientContext& context);

/// The caller's number, or the reason for its refusal.
struct Caller {
  int process = -1;
  grpc::Status status;
};
/// Checks a caller. `own` is the server's hello; callers are own.process + 1 to processes - 1.
Caller check_caller(const grpc::CallbackServerContext& context, const Hello& own, int processes);

void answer(const LinkEnds& ends, grpc::CallbackServerContext& context);
/// The error in the server's answer; empty if there is none.
std::string error_in_answer(const grpc::ClientContext& context, const LinkEnds& ends);

/// A status as text: `UNAVAILABLE: Socket closed`.
std::string words_of(const grpc::Status& status);
/// gRPC's message, or ours if the door has refused the connection.
std::string words_of(const std::string& error);

}  // namespace regatta::exchange
