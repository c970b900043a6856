// SPDX-License-Identifier: Apache-2.0
//
// What an exchange between processes is told: which run it serves, who takes part, and its limits.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/runtime/counter.h"

namespace regatta {

/// Where processes prove to each other who they are, and everything is encrypted: PEM files.
struct TlsFiles {
  std::string certificate;  ///< of this process, valid for the address it listens at; empty: no TLS
  std::string key;
  std::string authority;  ///< that has signed the certificates of all processes
};

struct ExchangeOptions {
  std::string run_id;                ///< 32 hex digits
  std::string token;                 ///< secret of the run
  int process = 0;                   ///< this one
  int processes = 1;                 ///< in the run
  std::string listen = "127.0.0.1";  ///< address to bind to, without port
  TlsFiles tls;
  std::int64_t chunk_bytes = 4 << 20;  ///< payload of one gRPC message
  std::int64_t wait_limit_ns = Patience{}.limit_ns;
  int connect_limit_ms = 10'000;
  // A peer that gives no sign of life for their sum is lost. Less than 5 s must pass unnoticed: a
  // process may be stopped that long.
  int keepalive_time_ms = 2000;
  int keepalive_timeout_ms = 5000;
};

}  // namespace regatta
