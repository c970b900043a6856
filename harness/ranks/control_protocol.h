// SPDX-License-Identifier: Apache-2.0
//
// What both ends of the control service agree on before a message is read: who may speak (a run's
// id and token, in the metadata of the call) and how much.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace regatta {

/// Of one run. Made by its coordinator; ranks are told by their environment.
struct RunIdentity {
  std::string run_id;  ///< 32 hexadecimal digits
  std::string token;   ///< 64 hexadecimal digits: a secret
};

inline constexpr char kRunIdKey[] = "regatta-run-id";
inline constexpr char kTokenKey[] = "regatta-token";
inline constexpr char kProtocolKey[] = "regatta-protocol";

inline constexpr int kMostMessageBytes = 2 * 1024 * 1024;
inline constexpr std::int64_t kPieceBytes = 1024 * 1024;
inline constexpr std::size_t kMostReportBytes = std::size_t{1} << 30;

/// A rank says this often that it lives, and is lost when it has been silent for so long.
inline constexpr std::chrono::milliseconds kBeatPeriod{500};
inline constexpr std::chrono::milliseconds kMostSilence{5000};

/// Either end pings a connection that has been quiet for so long, and gives it up when no answer
/// comes for as long as the limit.
inline constexpr int kKeepaliveMs = 10'000;
inline constexpr int kKeepaliveLimitMs = 20'000;

/// Environment variables by which a coordinator makes a process its rank.
inline constexpr char kCoordinatorVariable[] = "REGATTA_COORDINATOR";  ///< ADDRESS:PORT
inline constexpr char kRunIdVariable[] = "REGATTA_RUN_ID";
inline constexpr char kTokenVariable[] = "REGATTA_TOKEN";
/// Set by rank 0 of an allocation that exists already: the other ranks hear of the run by MPI.
inline constexpr char kJoinedVariable[] = "REGATTA_JOINED";

}  // namespace regatta
