// SPDX-License-Identifier: Apache-2.0
//
// Schedules of pipelines as data: the order in which each stage computes the forward and backward
// passes of its microbatches. A stage holds one or more chunks of the model's layers; chunk c is at
// stage c mod p. This file is independent of the graph.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace regatta::strategies {

inline constexpr std::string_view kGpipe = "gpipe";
inline constexpr std::string_view k1f1b = "1f1b";
inline constexpr std::string_view kInterleaved = "interleaved";
inline constexpr std::string_view kZeroBubble = "zero_bubble";
inline constexpr std::array kSchedules = {kGpipe, k1f1b, kInterleaved, kZeroBubble};

/// The kinds of work on one microbatch and chunk.
enum class PassKind : std::uint8_t {
  Forward,
  Backward,         ///< the gradients of inputs and of weights
  InputGradients,   ///< the gradients of inputs, for which the previous chunk waits
  WeightGradients,  ///< the gradients of weights
};

struct Pass {
  PassKind kind = PassKind::Forward;
  std::int64_t chunk = 0;
  std::int64_t microbatch = 0;
  bool operator==(const Pass&) const = default;
};

struct PipelineShape {
  std::int64_t stages = 1;
  std::int64_t chunks = 1;  ///< number of chunks at each stage
  std::int64_t microbatches = 1;

  std::int64_t all_chunks() const { return stages * chunks; }
};

/// Returns the passes of each stage, in the order in which the stage computes them. p is the number
/// of stages, m the number of microbatches, and v the number of chunks per stage.
/// gpipe: all forward passes, then all backward ones. Source: Huang et al., arXiv:1811.06965.
/// 1f1b: stage s begins with min(p - s - 1, m) forward passes, then forward and backward passes
/// alternate. Source: Narayanan et al., arXiv:1806.03377; the bubble is (p - 1) / m as with gpipe,
/// and a stage keeps at most p - s microbatches.
/// interleaved: 1f1b with several chunks per stage and a bubble of (p - 1) / (v m); m is a multiple
/// of p. Source: Narayanan et al., arXiv:2104.04473.
/// zero_bubble: weight gradients fill the bubbles; a stage keeps at most p microbatches (ZB-H1).
/// Source: Qi et al., arXiv:2401.10241.
/// Aborts if the name is not in kSchedules.
std::vector<std::vector<Pass>> pipeline_schedule(std::string_view name, const PipelineShape& shape);

/// Returns the passes of all stages in one order, each pass after the passes that it depends on.
/// Aborts if there is no such order.
std::vector<Pass> in_one_order(const std::vector<std::vector<Pass>>& schedule,
                               const PipelineShape& shape);

/// How long a stage takes for each kind of pass on one microbatch, summed over the stage's chunks.
/// Units: any, as long as all fields have the same.
struct PassTimes {
  double forward = 1;
  double input_gradients = 1;
  double weight_gradients = 1;
};

/// Returns the time from the start of the first pass to the end of the last, assuming that
/// transfers take no time. Units: those of `times`.
double makespan(const std::vector<std::vector<Pass>>& schedule, const PipelineShape& shape,
                const PassTimes& times);

}  // namespace regatta::strategies
