// SPDX-License-Identifier: Apache-2.0
//
// The limits and environment variables of the control service that both sides share: sizes of
// messages and periods of heartbeats. Access is checked by kernels/comm/grpc/grpc_hello.h.
#pragma once

#include <chrono>
#include <cstdint>

#include "kernels/comm/grpc/exchange_options.h"

namespace regatta {

inline constexpr std::int64_t kPieceBytes = 1024 * 1024;
inline constexpr std::size_t kMostReportBytes = std::size_t{1} << 30;

/// The period of a rank's heartbeats, and the silence after which a rank counts as lost.
inline constexpr std::chrono::milliseconds kBeatPeriod{500};
inline constexpr std::chrono::milliseconds kMostSilence{5000};

inline constexpr ConnectionLimits kControlLimits{.keepalive_time_ms = 10'000,
                                                 .keepalive_timeout_ms = 20'000,
                                                 .most_message_bytes = 2 * 1024 * 1024};

/// Environment variables by which a coordinator makes a process its rank.
inline constexpr char kCoordinatorVariable[] = "REGATTA_COORDINATOR";  ///< ADDRESS:PORT
inline constexpr char kRunIdVariable[] = "REGATTA_RUN_ID";
inline constexpr char kTokenVariable[] = "REGATTA_TOKEN";
/// Like --picked: the algorithms of open sums, which the coordinator alone picks.
inline constexpr char kPickedVariable[] = "REGATTA_PICKED";
/// RaceRequest::replicas_on_host, which the coordinator alone knows.
inline constexpr char kReplicasOnHostVariable[] = "REGATTA_REPLICAS_ON_HOST";
/// Set for rank 0 in an existing allocation, which then sends the run's variables by MPI.
inline constexpr char kJoinedVariable[] = "REGATTA_JOINED";

}  // namespace regatta
