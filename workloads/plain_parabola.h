// SPDX-License-Identifier: Apache-2.0
//
// The training step of the workload parabola, written by hand in f32 without a graph: the baseline
// with which parabola_bench compares the engine. plain_parabola.cpp is compiled twice, with
// different flags (workloads/CMakeLists.txt).
#pragma once

#include <array>
#include <cstddef>

namespace regatta::workloads {

struct PlainParabola {
  static constexpr std::size_t kHidden = 5;
  static constexpr std::size_t kPoints = 50;
  std::array<float, kPoints> x{};
  std::array<float, kPoints> y{};
  std::array<float, kHidden> w1{0.5F, -1.2F, 0.3F, 1.7F, -0.4F};
  std::array<float, kHidden> w2{-0.7F, 0.9F, 1.1F, -0.2F, 0.6F};
  std::array<float, kHidden> b1{};
  float b2 = 0;
};

/// Runs one training step and returns the loss. Compiled with -O2 and with tanh from libm, like
/// ordinary code.
float plain_step_o2(PlainParabola& state);
/// Like plain_step_o2(), but compiled with -O3 -ffast-math for this machine; the compiler may
/// vectorise tanh (libmvec).
float plain_step_fast_math(PlainParabola& state);

}  // namespace regatta::workloads
