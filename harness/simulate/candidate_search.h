// SPDX-License-Identifier: Apache-2.0
//
// Finds the fastest strategy for a cluster: simulates steps of each candidate
// (strategies/candidates.h), with a worker in each process, unless a lower bound of its step time
// excludes the candidate. The bound is the longest time that any lane computes, or that the link of
// a host with one process needs for its bytes. No step takes less, because it contains both.
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
  std::string memory;      ///< limit for a worker, for parse_memory(); empty: none
};

struct Candidate {
  std::string name;                ///< strategy and flags of its own
  std::vector<std::string> flags;  ///< of `regatta run`
  std::int64_t memory_bytes = 0;   ///< planned memory of the worker that needs most
  std::int64_t bytes_sent = 0;     ///< sent by all workers in a step
  std::int64_t global_batch = 1;
  double bound_ns = 0;                 ///< lower bound of a step
  std::optional<double> step_ns;       ///< mean; empty if not simulated
  std::optional<std::int64_t> tokens;  ///< per example

  /// Returns the step time, or its bound, per example, because candidates may differ in their
  /// batch.
  double ns_per_example() const {
    return step_ns.value_or(bound_ns) / static_cast<double>(global_batch);
  }
};

/// Returns the candidates for the workers and microbatches of a request. Throws: RunError(Usage) if
/// it has one worker, or flags that candidates set.
std::vector<Candidate> candidates_for(const plan::RaceRequest& request);

struct SearchResult {
  std::vector<Candidate> fit;        ///< simulated candidates, then others, each by time
  std::vector<Candidate> too_large;  ///< by memory
  std::string limit;                 ///< in words
  std::int64_t limit_bytes = 0;
  std::map<std::string, std::int64_t> refused;  ///< count of candidates by reason
};

/// Number of candidates that are certain to be the fastest.
inline constexpr std::size_t kBest = 5;

/// Called with the index of the next candidate, the number of candidates, and its name.
using SearchWatch = std::function<void(std::size_t, std::size_t, const std::string&)>;

/// Throws: RunError for an invalid request or file, or if no candidate can be built or fits into
/// the memory.
SearchResult search(const SearchRequest& request, const SearchWatch& watch);

}  // namespace regatta::simulate
