// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/compute_times.h"

#include <cmath>
#include <numeric>

#include "kernels/base/error.h"
#include "kernels/base/random.h"

namespace regatta::virtual_time {
namespace {

/// A uniform number in (0, 1).
double open_uniform(const RandomStream& stream, std::uint32_t index) {
  const Counter4 words = stream.words(index);
  return (static_cast<double>(words[2]) + 0.5) * 0x1p-32;
}

/// A gamma variate of shape k and scale 1. Source: Marsaglia and Tsang, "A simple method for
/// generating gamma variables", TOMS 2000.
double gamma(const RandomStream& stream, double k) {
  const double boost =
      k >= 1 ? 1 : std::pow(open_uniform(stream, 1'000'000), 1 / k);  // of shape k + 1
  const double d = (k >= 1 ? k : k + 1) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (std::uint32_t i = 0;; ++i) {
    const double x = static_cast<double>(stream.normal(i));
    const double v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(open_uniform(stream, i)) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return boost * d * v;
    }
  }
}

}  // namespace

std::string_view to_string(ComputeTimes::Kind kind) {
  switch (kind) {
    case ComputeTimes::Kind::Constant: return "constant";
    case ComputeTimes::Kind::Gamma: return "gamma";
    case ComputeTimes::Kind::LogNormal: return "log_normal";
    case ComputeTimes::Kind::ShiftedExponential: return "shifted_exponential";
    case ComputeTimes::Kind::Samples: return "samples";
  }
  return "unknown";
}

double compute_factor(const ComputeTimes& times, std::uint64_t seed, std::uint32_t worker,
                      std::uint32_t step) {
  const RandomStream stream(seed, Purpose::ComputeTimes, worker, step);
  const double spread = times.spread;
  switch (times.kind) {
    case ComputeTimes::Kind::Constant: return 1;
    case ComputeTimes::Kind::Gamma: {
      if (spread == 0) return 1;
      const double k = 1 / (spread * spread);
      return gamma(stream, k) / k;
    }
    case ComputeTimes::Kind::LogNormal: {
      const double variance = std::log1p(spread * spread);  // of the logarithm
      return std::exp(std::sqrt(variance) * static_cast<double>(stream.normal(0)) - variance / 2);
    }
    case ComputeTimes::Kind::ShiftedExponential:
      return 1 - spread - spread * std::log(open_uniform(stream, 0));
    case ComputeTimes::Kind::Samples: {
      check(!times.samples.empty(), "there are samples to draw from");
      const double mean = std::accumulate(times.samples.begin(), times.samples.end(), 0.0) /
                          static_cast<double>(times.samples.size());
      const auto count = static_cast<std::uint32_t>(times.samples.size());
      return times.samples[stream.below(count, 0)] / mean;
    }
  }
  return 1;
}

}  // namespace regatta::virtual_time
