// SPDX-License-Identifier: Apache-2.0
//
// Faults that are put in on purpose, so that ci/regression_trial can count how often ci/regression
// finds them. A build has one only where cmake was told so (-DREGATTA_PLANT=NAME); `regatta doctor`
// and every record of that build say it.
//   slow_step        a step takes a tenth longer (kernels/runtime/lane.cpp)
//   wrong_average    the gradient of one worker counts half
//   slow_kernel      pooling is not optimised (kernels/cpu/CMakeLists.txt)
//   slow_collective  an all_reduce in a process takes a third longer
//   (kernels/comm/collective/all_reduce.cpp)
#pragma once

#include "kernels/graph/graph.h"

namespace regatta {

/// The step with the gradients of replica 1 halved. Losses are computed as before, and nothing
/// takes longer.
Step wrongly_averaged(const Step& placed);

}  // namespace regatta
