// SPDX-License-Identifier: Apache-2.0
//
// airbench94: the fastest published recipe of its time for 94 % on CIFAR-10, here with
// normalisation in groups. Source: K. Jordan, airbench (legacy/airbench94.py), arXiv:2404.00498.
#pragma once

#include "workloads/workload.h"

namespace regatta {

Workload airbench94();
// A half and a quarter of the channels and groups of 32 examples, for tests: not in the table of
// workloads.
Workload airbench94_narrow();

}  // namespace regatta
