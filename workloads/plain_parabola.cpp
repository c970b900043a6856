// SPDX-License-Identifier: Apache-2.0
//
// PLAIN_STEP: the function's name, defined by CMake for each set of flags.
#include "workloads/plain_parabola.h"

#include <cmath>

namespace regatta::workloads {

float PLAIN_STEP(PlainParabola& state) {
  constexpr std::size_t kHidden = PlainParabola::kHidden;
  constexpr std::size_t kPoints = PlainParabola::kPoints;
  constexpr float kRate = 0.01F;
  // The outer loop is over hidden units, so that the inner loops over points are long.
  std::array<std::array<float, kPoints>, kHidden> hidden;
  std::array<float, kPoints> output;
  output.fill(state.b2);
  for (std::size_t j = 0; j < kHidden; ++j) {
    for (std::size_t p = 0; p < kPoints; ++p) {
      hidden[j][p] = std::tanh(state.w1[j] * state.x[p] + state.b1[j]);
      output[p] += state.w2[j] * hidden[j][p];
    }
  }
  float loss = 0;
  float db2 = 0;
  for (std::size_t p = 0; p < kPoints; ++p) {
    const float error = output[p] - state.y[p];
    loss += error * error / kPoints;
    output[p] = 2 * error / kPoints;
    db2 += output[p];
  }
  for (std::size_t j = 0; j < kHidden; ++j) {
    float dw1 = 0;
    float db1 = 0;
    float dw2 = 0;
    for (std::size_t p = 0; p < kPoints; ++p) {
      const float h = hidden[j][p];
      dw2 += output[p] * h;
      const float dz = output[p] * state.w2[j] * (1 - h * h);
      dw1 += dz * state.x[p];
      db1 += dz;
    }
    state.w1[j] -= kRate * dw1;
    state.b1[j] -= kRate * db1;
    state.w2[j] -= kRate * dw2;
  }
  state.b2 -= kRate * db2;
  return loss;
}

}  // namespace regatta::workloads
