// SPDX-License-Identifier: Apache-2.0
//
// Mutual identification of two processes before a stream carries data, in the metadata of the gRPC
// call. The client sends the protocol version, run id and token, and in an exchange also its
// process number. The server either refuses with a text that gives the reason, or accepts; in an
// exchange it then answers with the run id and its own process number.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

#include "kernels/comm/grpc/exchange_options.h"
#include "kernels/comm/grpc/grpc_link.h"

namespace regatta::comm {

inline constexpr std::string_view kMethod = "/regatta.Exchange/Stream";

/// Adds the client's run and protocol version to the call's metadata.
void say(const RunIdentity& run, std::string_view protocol, grpc::ClientContext& context);
/// Returns OK if the caller belongs to the run and uses the protocol version; else a status with
/// the reason for the refusal.
grpc::Status check_run(const grpc::ServerContextBase& context, const RunIdentity& run,
                       std::string_view protocol);

/// The run and the number of a process in an exchange.
struct Hello {
  RunIdentity run;
  int process = 0;
};

void say(const Hello& hello, grpc::ClientContext& context);

/// The caller's process number, or the reason why it is refused.
struct Caller {
  int process = -1;
  grpc::Status status;
};
/// Checks a caller in an exchange. `own` is the server's hello; the caller's process number must be
/// in own.process + 1 ... processes - 1.
Caller check_caller(const grpc::CallbackServerContext& context, const Hello& own, int processes);

void answer(const LinkEnds& ends, grpc::CallbackServerContext& context);
/// Returns the error in the server's answer; empty if there is none.
std::string error_in_answer(const grpc::ClientContext& context, const LinkEnds& ends);

/// Formats a status as text: `UNAVAILABLE: Socket closed`.
std::string words_of(const grpc::Status& status);

}  // namespace regatta::comm
