// SPDX-License-Identifier: Apache-2.0
//
// Constants that coordinator and ranks share for the control service: message sizes, heartbeat
// periods and names of environment variables. kernels/comm/grpc/grpc_hello.h checks access.
#pragma once

#include <chrono>
#include <cstdint>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta::ranks {

inline constexpr std::int64_t kPieceBytes = 1024 * 1024;
inline constexpr std::size_t kMostReportBytes = std::size_t{1} << 30;

/// A rank sends a heartbeat every kBeatPeriod. It counts as lost if none arrives for kMostSilence.
inline constexpr std::chrono::milliseconds kBeatPeriod{500};
inline constexpr std::chrono::milliseconds kMostSilence{5000};

inline constexpr comm::ConnectionLimits kControlLimits{.keepalive_time_ms = 10'000,
                                                       .keepalive_timeout_ms = 20'000,
                                                       .most_message_bytes = 2 * 1024 * 1024};

/// Environment variables that a coordinator sets for its ranks.
inline constexpr char kCoordinatorVariable[] =
    "REGATTA_COORDINATOR";  ///< ADDRESS:PORT or unix:PATH
inline constexpr char kRunIdVariable[] = "REGATTA_RUN_ID";
inline constexpr char kTokenVariable[] = "REGATTA_TOKEN";
/// Set for rank 0 in an existing allocation, which then sends the run's variables by MPI.
inline constexpr char kJoinedVariable[] = "REGATTA_JOINED";

}  // namespace regatta::ranks
