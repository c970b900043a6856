// SPDX-License-Identifier: Apache-2.0
//
// ResNet-9, the network that won DAWNBench's CIFAR-10 race on one GPU, with its complete recipe;
// and resnet9_thin, the same with a quarter of the channels and a recipe that takes seconds.
// Source: D. Page, cifar10-fast, dawn.py (24 epochs).
#pragma once

#include "workloads/workload.h"

namespace regatta {

Workload resnet9();
Workload resnet9_thin();

}  // namespace regatta
