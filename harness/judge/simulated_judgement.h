// SPDX-License-Identifier: Apache-2.0
//
// Results of runs in virtual time, apart from real runs. The runs of a study differ only in
// strategy, workers and links; each of its points is a way to train (a strategy with its options),
// a number of workers and a link. Where the order of two ways flips between two points, one
// overtakes the other.
#pragma once

#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/judgement.h"

namespace regatta {

/// The network between two hosts.
struct SimulatedLink {
  double bytes_per_s = kInfinity;       ///< of a host's narrowest link
  double latency_ns = 0;                ///< one way
  double core_bytes_per_s = kInfinity;  ///< of the link that all hosts share
  std::string cluster;                  ///< all that older records have: a digest; else empty
  std::partial_ordering operator<=>(const SimulatedLink&) const = default;
};

struct SimulatedPoint {
  std::size_t way = 0;   ///< of SimulatedStudy::ways
  std::size_t link = 0;  ///< of SimulatedStudy::links
  std::int64_t workers = 1;
  CellJudgement cell;       ///< medians over the records of the point
  double step_seconds = 0;  ///< median step, median over records
};

/// Units: examples per second of virtual time.
double speed_of(const SimulatedPoint& point);

/// The quantity by which two ways are compared.
enum class SimulatedMeasure { Speed, TimeToTarget };
std::string_view to_string(SimulatedMeasure measure);

enum class SimulatedAxis { Workers, Bandwidth, Latency };
std::string_view to_string(SimulatedAxis axis);

/// One way overtakes another between two points that differ in one thing.
struct Overtaking {
  SimulatedMeasure measure = SimulatedMeasure::Speed;
  SimulatedAxis axis = SimulatedAxis::Workers;
  std::size_t way = 0;        ///< the way that is ahead at `to`
  std::size_t overtaken = 0;  ///< the way that is ahead at `from`
  std::size_t from = 0;       ///< point of the overtaking way where it is behind
  std::size_t to = 0;         ///< its point where it is ahead
  /// Where both measures are equal, interpolated over logarithms; in workers, bytes/s or ns.
  /// Empty where an end is 0 or has no limit.
  std::optional<double> at;
};

struct SimulatedStudy {
  bool batch_grows = false;            ///< with the workers, at equal shares; else it is fixed
  std::vector<const Record*> ways;     ///< the first record of each way
  std::vector<SimulatedLink> links;    ///< the narrowest first
  std::vector<SimulatedPoint> points;  ///< by way, link and workers
  std::optional<double>
      one_worker;  ///< examples/s of the fastest point with one worker; may be empty
  std::vector<Overtaking> overtakings;
};

/// Judges records that are all simulated; the result points into them. A record that occurs twice,
/// by its run_id, counts once; a failed one does not count.
std::vector<SimulatedStudy> judge_simulated(std::span<const Record> records);

/// Finds the study's overtakings. Speeds within 2 % are level.
std::vector<Overtaking> overtakings_of(const SimulatedStudy& study);

}  // namespace regatta
