// SPDX-License-Identifier: Apache-2.0
//
// What runs in virtual time say, apart from real runs. A study is what differs in strategy, workers
// and links only; each of its points is a way to train (a strategy with its options), a number of
// workers and a link. Where the order of two ways flips between two points, one overtakes the
// other.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/judgement.h"

namespace regatta {

/// What lies between two hosts.
struct SimulatedLink {
  double bytes_per_s = kInfinity;       ///< the narrowest of a host's
  double latency_ns = 0;                ///< one way
  double core_bytes_per_s = kInfinity;  ///< of the link that all hosts share
  std::string cluster;                  ///< digest, of older records, which tell no more; or empty
  std::partial_ordering operator<=>(const SimulatedLink&) const = default;
};

struct SimulatedPoint {
  std::size_t way = 0;   ///< of SimulatedStudy::ways
  std::size_t link = 0;  ///< of SimulatedStudy::links
  std::int64_t workers = 1;
  CellJudgement cell;       ///< medians over the records of the point
  double step_seconds = 0;  ///< median step, median over records
};

/// Examples a second in virtual time.
double speed_of(const SimulatedPoint& point);

/// What two ways are compared by.
enum class SimulatedMeasure { Speed, TimeToTarget };
std::string_view to_string(SimulatedMeasure measure);

enum class SimulatedAxis { Workers, Bandwidth, Latency };
std::string_view to_string(SimulatedAxis axis);

/// One way overtakes another between two points that differ in one thing.
struct Overtaking {
  SimulatedMeasure measure = SimulatedMeasure::Speed;
  SimulatedAxis axis = SimulatedAxis::Workers;
  std::size_t way = 0;        ///< that is ahead at `to`
  std::size_t overtaken = 0;  ///< the way that is ahead at `from`
  std::size_t from = 0;       ///< point of the one that overtakes, where it is behind
  std::size_t to = 0;         ///< its point where it is ahead
  /// Where the logarithms of both would meet, by straight lines over the logarithm of the axis; in
  /// workers, bytes/s or ns. Empty where an end is 0 or has no limit.
  std::optional<double> at;
};

struct SimulatedStudy {
  bool batch_grows = false;            ///< with workers, whose share is the same; or it is the same
  std::vector<const Record*> ways;     ///< the first record of each
  std::vector<SimulatedLink> links;    ///< the narrowest first
  std::vector<SimulatedPoint> points;  ///< by way, link and workers
  std::optional<double> one_worker;    ///< examples/s of the fastest point with one; empty: none
  std::vector<Overtaking> overtakings;
};

/// Of records that are all simulated. The result points into them. One that is there twice, by its
/// run_id, counts once; one that failed does not count.
std::vector<SimulatedStudy> judge_simulated(std::span<const Record> records);

/// Where ways overtake each other, from the study's points. Speeds nearer than 2 % are level.
std::vector<Overtaking> overtakings_of(const SimulatedStudy& study);

}  // namespace regatta
