// SPDX-License-Identifier: Apache-2.0
//
// Divides what summed replicas (summed_replicas.h) keep: of each bucket a replica has a share, the
// elements whose sums a ring completes there. An all_reduce becomes a reduce_scatter, parameters
// and slots become the share's parts of them, updates those of these parts, and what reads a
// parameter reads it from an all_gather. sharded.cpp says what is freed when.
#pragma once

#include "kernels/graph/graph.h"

namespace regatta {

/// What does not stay until the step ends.
struct Frees {
  bool gradients = false;
  bool parameters = false;  ///< those that were gathered
};

/// `replicas`: after bucket(), of a ring.
Step shared_out(const Step& replicas, const Frees& frees);

}  // namespace regatta
