// SPDX-License-Identifier: Apache-2.0
//
// What both ends of the control service agree on before a message is read: how much one may say at
// once, and how often. Who may speak, kernels/comm/grpc/grpc_hello.h says.
#pragma once

#include <chrono>
#include <cstdint>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta {

inline constexpr std::int64_t kPieceBytes = 1024 * 1024;
inline constexpr std::size_t kMostReportBytes = std::size_t{1} << 30;

/// A rank says this often that it lives, and is lost when it has been silent for so long.
inline constexpr std::chrono::milliseconds kBeatPeriod{500};
inline constexpr std::chrono::milliseconds kMostSilence{5000};

inline constexpr ConnectionLimits kControlLimits{.keepalive_time_ms = 10'000,
                                                 .keepalive_timeout_ms = 20'000,
                                                 .most_message_bytes = 2 * 1024 * 1024};

/// Environment variables by which a coordinator makes a process its rank.
inline constexpr char kCoordinatorVariable[] = "REGATTA_COORDINATOR";  ///< ADDRESS:PORT
inline constexpr char kRunIdVariable[] = "REGATTA_RUN_ID";
inline constexpr char kTokenVariable[] = "REGATTA_TOKEN";
/// Set by rank 0 of an allocation that exists already: the other ranks hear of the run by MPI.
inline constexpr char kJoinedVariable[] = "REGATTA_JOINED";

}  // namespace regatta
