// SPDX-License-Identifier: Apache-2.0
//
// Finds the fastest strategy for a cluster: simulates a step of each candidate
// (strategies/candidates.h), a worker in each process, except those that a lower bound of their
// time excludes. The bound of a step is the longest time that a lane computes, or a link of a host
// with one process needs for its bytes. A step cannot take less, as both also happen in it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/race_request.h"

namespace regatta::simulate {

/// Parses a value of --memory into bytes: `80GB`, or kB, MB or TB. Throws: RunError(Usage).
std::int64_t parse_memory(const std::string& text);

/// Formats bytes in the units of parse_memory(): `1.25 GB`.
std::string bytes_text(std::int64_t bytes);

struct SearchRequest {
  plan::RaceRequest race;  ///< flags that hold for every candidate, and the cluster
  std::string memory;      ///< of a worker, as parse_memory() reads it; empty: no limit
};

struct Candidate {
  std::string name;                ///< strategy and flags of its own
  std::vector<std::string> flags;  ///< of `regatta run`
  std::int64_t memory_bytes = 0;   ///< planned, of the worker with most
  std::int64_t bytes_sent = 0;     ///< in a step by all workers
  std::int64_t global_batch = 1;
  double bound_ns = 0;                 ///< lower bound of a step
  std::optional<double> step_ns;       ///< mean; empty if not simulated
  std::optional<std::int64_t> tokens;  ///< per example

  /// Returns the time of a step, or its bound, per example: candidates may differ in their batch.
  double ns_per_example() const {
    return step_ns.value_or(bound_ns) / static_cast<double>(global_batch);
  }
};

/// Returns the candidates for the workers and microbatches of a request. Throws: RunError(Usage) if
/// it has one worker, or flags that only candidates have.
std::vector<Candidate> candidates_for(const plan::RaceRequest& request);

struct SearchResult {
  std::vector<Candidate> fit;        ///< the simulated ones first, each kind by time
  std::vector<Candidate> too_large;  ///< by memory
  std::string limit;                 ///< in words
  std::int64_t limit_bytes = 0;
  std::map<std::string, std::int64_t> refused;  ///< count of candidates by reason
};

/// Number of candidates that are certain to be the fastest.
inline constexpr std::size_t kBest = 5;

/// Called with the index of the candidate that begins, the number of all, and its name.
using SearchWatch = std::function<void(std::size_t, std::size_t, const std::string&)>;

/// Throws: RunError for an invalid request or file, or if no candidate can be built or fits into
/// the memory.
SearchResult search(const SearchRequest& request, const SearchWatch& watch);

}  // namespace regatta::simulate
