// SPDX-License-Identifier: Apache-2.0
//
// The two passes over a row of logits that a softmax needs: the largest logit, and the sum of the
// exponentials relative to it.
#pragma once

#include <algorithm>
#include <limits>

#include "kernels/cpu/panels.h"
#include "kernels/cpu/vector_math.h"

namespace regatta::cpu {

inline constexpr float kNever = -std::numeric_limits<float>::infinity();

template <typename T>
Lanes logits_at(const T* row, AllLanes lanes) {
  return load_lanes(row, lanes);
}
/// Lanes beyond the last class have a logit that is never the largest.
template <typename T>
Lanes logits_at(const T* row, SomeLanes lanes) {
  Lanes logits = all(kNever);
  for (std::size_t i = 0; i < lanes.count; ++i) logits[i] = load(row[i]);
  return logits;
}

template <typename T>
float largest_logit(const T* row, std::int64_t classes) {
  Lanes most = all(kNever);
  for_each_lanes(classes,
                 [&](auto k, auto lanes) { most = larger(logits_at(row + k, lanes), most); });
  return largest_lane(most);
}

/// Returns the sum of e = exp(logit - largest), and calls visit(k, e, lanes) for the lanes from
/// class k on.
template <typename T, typename Visit>
double sum_of_exponentials(const T* row, std::int64_t classes, float largest, const Visit& visit) {
  constexpr std::int64_t kBlock = 512;  // classes whose sum in f32 loses little
  double sum = 0;
  for (std::int64_t begin = 0; begin < classes; begin += kBlock) {
    Lanes block{};
    for_each_lanes(std::min(kBlock, classes - begin), [&](auto k, auto lanes) {
      const Lanes e = fast_exp_of_negative(logits_at(row + begin + k, lanes) - largest);
      visit(begin + k, e, lanes);
      block += e;
    });
    sum += static_cast<double>(sum_of_lanes(block));
  }
  return sum;
}

}  // namespace regatta::cpu
