// SPDX-License-Identifier: Apache-2.0
//
// How two processes make sure of each other before a stream carries anything, as metadata of the
// call: the client says protocol version, run id and token, in an exchange also its number; the
// server refuses with a text that says what is wrong, or answers, in an exchange with run id and
// its number.
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

/// What a client says of itself, with the protocol that it speaks.
void say(const RunIdentity& run, std::string_view protocol, grpc::ClientContext& context);
/// OK where the caller belongs to the run and speaks the protocol; else why it is refused.
grpc::Status check_run(const grpc::ServerContextBase& context, const RunIdentity& run,
                       std::string_view protocol);

/// Of an exchange: the run, and which process speaks.
struct Hello {
  RunIdentity run;
  int process = 0;
};

void say(const Hello& hello, grpc::ClientContext& context);

/// Who calls, or why it may not.
struct Caller {
  int process = -1;
  grpc::Status status;
};
/// `own` is the server's; callers have numbers from own.process + 1 to processes - 1.
Caller check_caller(const grpc::CallbackServerContext& context, const Hello& own, int processes);

void answer(const LinkEnds& ends, grpc::CallbackServerContext& context);
/// What is wrong with the server's answer; empty when nothing is.
std::string error_in_answer(const grpc::ClientContext& context, const LinkEnds& ends);

/// `UNAVAILABLE: Socket closed`.
std::string words_of(const grpc::Status& status);
/// gRPC's words, or ours where the door has refused the connection.
std::string words_of(const std::string& error);

}  // namespace regatta::exchange
