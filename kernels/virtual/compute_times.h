// SPDX-License-Identifier: Apache-2.0
//
// Variation of a worker's compute time between steps: the measured or given time is multiplied by a
// factor with mean 1, drawn from (seed, worker, step). Distributions from the literature on
// stragglers: shifted exponential (Lee et al., "Speeding up distributed machine learning using
// codes", 2018), gamma (Dutta et al., "Slow and stale gradients can win the race", 2018),
// log-normal (Chen et al., "Revisiting distributed synchronous SGD", 2016), or observed factors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace regatta::virtual_time {

struct ComputeTimes {
  enum class Kind : std::uint8_t { Constant, Gamma, LogNormal, ShiftedExponential, Samples };
  Kind kind = Kind::Constant;
  /// The factor's standard deviation for Gamma and LogNormal; for ShiftedExponential, the part of
  /// the time that varies, 0 to 1.
  double spread = 0;
  std::vector<double> samples = {};  ///< Samples: times in any unit, divided by their mean
};
std::string_view to_string(ComputeTimes::Kind kind);

/// Returns the factor on the compute time of `worker` in `step`.
double compute_factor(const ComputeTimes& times, std::uint64_t seed, std::uint32_t worker,
                      std::uint32_t step);

}  // namespace regatta::virtual_time
