// SPDX-License-Identifier: Apache-2.0
//
// Options for the gRPC servers and clients of a process: the run that they belong to, TLS, limits
// and keepalive for connections, and which processes exchange data.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/runtime/counter.h"

namespace regatta::comm {

/// Identifies a run. The run's coordinator makes it and passes it to the ranks in their
/// environment.
struct RunIdentity {
  std::string run_id;  ///< 32 hexadecimal digits
  std::string token;   ///< 64 hexadecimal digits, secret
};

/// PEM files for TLS, with which processes authenticate each other and encrypt their connections.
struct TlsFiles {
  std::string certificate;  ///< this process's, valid for its listening address; empty: no TLS
  std::string key;
  std::string authority;  ///< certificate of the authority that signed those of all processes
};

/// Limits that both ends of a connection apply. A peer that has sent nothing for keepalive_time_ms
/// is pinged; it is considered lost if it does not answer within keepalive_timeout_ms.
struct ConnectionLimits {
  int keepalive_time_ms = 0;
  int keepalive_timeout_ms = 0;
  int most_message_bytes = 0;  ///< a longer message ends the call
};

struct ExchangeOptions {
  RunIdentity run;
  int process = 0;                   ///< rank of this process
  int processes = 1;                 ///< number of processes in the run
  std::string listen = "127.0.0.1";  ///< address to bind to, without port, or `unix:FOLDER`
  TlsFiles tls;
  std::int64_t chunk_bytes = 4 << 20;  ///< payload of one gRPC message
  std::int64_t wait_limit_ns = Patience{}.limit_ns;
  int connect_limit_ms = 10'000;
  // A silence below 5 s must go unnoticed: a process may be stopped that long.
  ConnectionLimits limits{
      .keepalive_time_ms = 2000, .keepalive_timeout_ms = 5000, .most_message_bytes = 16 << 20};
};

}  // namespace regatta::comm
