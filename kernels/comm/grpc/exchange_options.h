// SPDX-License-Identifier: Apache-2.0
//
// What servers and clients of a run are told: which run they serve, how connections are protected
// and watched; and of an exchange between processes, who takes part.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/runtime/counter.h"

namespace regatta {

/// Of one run. Made by its coordinator; ranks are told by their environment.
struct RunIdentity {
  std::string run_id;  ///< 32 hexadecimal digits
  std::string token;   ///< 64 hexadecimal digits: a secret
};

/// Where processes prove to each other who they are, and everything is encrypted: PEM files.
struct TlsFiles {
  std::string certificate;  ///< of this process, valid for the address it listens at; empty: no TLS
  std::string key;
  std::string authority;  ///< that has signed the certificates of all processes
};

/// Of a connection, on both sides. A peer is pinged when it has been quiet for so long, and is lost
/// when it has not answered within the second limit.
struct ConnectionLimits {
  int keepalive_time_ms = 0;
  int keepalive_timeout_ms = 0;
  int most_message_bytes = 0;  ///< a longer one ends the call
};

struct ExchangeOptions {
  RunIdentity run;
  int process = 0;                   ///< this one
  int processes = 1;                 ///< in the run
  std::string listen = "127.0.0.1";  ///< address to bind to, without port
  TlsFiles tls;
  std::int64_t chunk_bytes = 4 << 20;  ///< payload of one gRPC message
  std::int64_t wait_limit_ns = Patience{}.limit_ns;
  int connect_limit_ms = 10'000;
  // Less than 5 s must pass unnoticed: a process may be stopped that long.
  ConnectionLimits limits{
      .keepalive_time_ms = 2000, .keepalive_timeout_ms = 5000, .most_message_bytes = 16 << 20};
};

}  // namespace regatta
