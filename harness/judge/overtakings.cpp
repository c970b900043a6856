// SPDX-License-Identifier: Apache-2.0
//
// Finds where one simulated way overtakes another: points that differ only in workers, bandwidth or
// latency form a row, along which the order of two ways is followed.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/judge/simulated_judgement.h"

namespace regatta {
namespace {

// Compute times are random: ways are level if their speeds differ by less.
const double kLevel = std::log(1.02);

/// The properties that the points of a row share.
struct SeriesKey {
  std::int64_t workers = 0;
  SimulatedLink link;
  std::partial_ordering operator<=>(const SeriesKey&) const = default;
};

/// Points by position on the axis, then by way.
using Series = std::map<double, std::map<std::size_t, std::size_t>>;

double place_of(const SimulatedStudy& study, const SimulatedPoint& point, SimulatedAxis axis) {
  const SimulatedLink& link = study.links[point.link];
  switch (axis) {
    case SimulatedAxis::Workers: return static_cast<double>(point.workers);
    case SimulatedAxis::Bandwidth: return link.bytes_per_s;
    case SimulatedAxis::Latency: return link.latency_ns;
  }
  return 0;
}

std::map<SeriesKey, Series> rows_along(const SimulatedStudy& study, SimulatedAxis axis) {
  std::map<SeriesKey, Series> rows;
  for (std::size_t i = 0; i < study.points.size(); ++i) {
    const SimulatedPoint& point = study.points[i];
    SeriesKey key{.workers = point.workers, .link = study.links[point.link]};
    if (axis == SimulatedAxis::Workers) key.workers = 0;
    if (axis == SimulatedAxis::Bandwidth) key.link.bytes_per_s = 0;
    if (axis == SimulatedAxis::Latency) key.link.latency_ns = 0;
    rows[key][place_of(study, point, axis)][point.way] = i;
  }
  return rows;
}

/// Higher is better; 0 for a point that does not reach the target in the median.
double value_of(const SimulatedPoint& point, SimulatedMeasure measure) {
  if (measure == SimulatedMeasure::Speed) return speed_of(point);
  const auto& seconds = point.cell.seconds_to_target;
  return seconds && std::isfinite(seconds->median) ? 1 / seconds->median : 0;
}

/// Where a straight line through (x0, y0) and (x1, y1), over the logarithm of x, crosses 0.
std::optional<double> zero_between(double x0, double y0, double x1, double y1) {
  const double from = std::log(x0), to = std::log(x1);
  const double at = std::exp(from + (to - from) * y0 / (y0 - y1));
  const bool is_known =
      std::isfinite(from) && std::isfinite(y0) && std::isfinite(y1) && std::isfinite(at);
  return is_known ? std::optional(at) : std::nullopt;
}

void follow(const SimulatedStudy& study, const Series& row,
            std::pair<std::size_t, std::size_t> ways, Overtaking found,
            std::vector<Overtaking>& all) {
  struct Decided {
    double place;
    double lead;  ///< of the first way, as a logarithm
    std::size_t first, second;
  };
  std::optional<Decided> last;
  for (const auto& [place, points] : row) {
    const auto first = points.find(ways.first), second = points.find(ways.second);
    if (first == points.end() || second == points.end()) continue;
    const double lead = std::log(value_of(study.points[first->second], found.measure)) -
                        std::log(value_of(study.points[second->second], found.measure));
    if (!(std::abs(lead) >= kLevel)) continue;  // NaN, too, if neither reaches the target
    const Decided now{place, lead, first->second, second->second};
    if (last && (last->lead < 0) != (lead < 0)) {
      const bool first_leads = lead > 0;
      found.way = first_leads ? ways.first : ways.second;
      found.overtaken = first_leads ? ways.second : ways.first;
      found.from = first_leads ? last->first : last->second;
      found.to = first_leads ? now.first : now.second;
      found.at = zero_between(last->place, last->lead, place, lead);
      all.push_back(found);
    }
    last = now;
  }
}

}  // namespace

std::string_view to_string(SimulatedMeasure measure) {
  return measure == SimulatedMeasure::Speed ? "examples_per_s" : "seconds_to_target";
}

std::string_view to_string(SimulatedAxis axis) {
  switch (axis) {
    case SimulatedAxis::Workers: return "workers";
    case SimulatedAxis::Bandwidth: return "bandwidth";
    case SimulatedAxis::Latency: return "latency";
  }
  return "unknown";
}

std::vector<Overtaking> overtakings_of(const SimulatedStudy& study) {
  std::vector<Overtaking> all;
  for (const auto measure : {SimulatedMeasure::Speed, SimulatedMeasure::TimeToTarget}) {
    for (const auto axis :
         {SimulatedAxis::Workers, SimulatedAxis::Bandwidth, SimulatedAxis::Latency}) {
      for (const auto& [key, row] : rows_along(study, axis)) {
        for (std::size_t second = 1; second < study.ways.size(); ++second) {
          for (std::size_t first = 0; first < second; ++first) {
            follow(study, row, {first, second}, {.measure = measure, .axis = axis}, all);
          }
        }
      }
    }
  }
  return all;
}

}  // namespace regatta
