// SPDX-License-Identifier: Apache-2.0
//
// Computes the results of runs in virtual time, which are never mixed with real runs. The runs of a
// study differ only in strategy, workers and links. Each point of a study is a way to train (a
// strategy with its options), a number of workers and a link.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/judgement.h"

namespace regatta {

/// The network between two hosts.
struct SimulatedLink {
  double bytes_per_s = kInfinity;       ///< bandwidth of a host's narrowest link
  double latency_ns = 0;                ///< in one direction
  double core_bytes_per_s = kInfinity;  ///< bandwidth of the link that all hosts share
  std::string cluster;                  ///< digest of the cluster, for older records; else empty
  std::partial_ordering operator<=>(const SimulatedLink&) const = default;
};

struct SimulatedPoint {
  std::size_t way = 0;   ///< index into SimulatedStudy::ways
  std::size_t link = 0;  ///< index into SimulatedStudy::links
  std::int64_t workers = 1;
  CellJudgement cell;       ///< medians over the records of the point
  double step_seconds = 0;  ///< median step time, then the median over the records
};

/// Returns the speed of a point. Units: examples per second of virtual time.
double speed_of(const SimulatedPoint& point);

struct SimulatedStudy {
  bool batch_grows = false;            ///< in proportion to the workers; else it is fixed
  std::vector<const Record*> ways;     ///< the first record of each way
  std::vector<SimulatedLink> links;    ///< ordered by bandwidth, the narrowest first
  std::vector<SimulatedPoint> points;  ///< ordered by way, link and number of workers
  std::optional<double> one_worker;    ///< examples/s of the fastest point with one worker
};

/// Judges `records`, which must all be of runs in virtual time and must outlive the result. Records
/// with the same run_id count once; failed runs are left out.
std::vector<SimulatedStudy> judge_simulated(std::span<const Record> records);

}  // namespace regatta
