// SPDX-License-Identifier: Apache-2.0
//
// MobileNetV2 for images of 32 x 32, with depthwise convolutions: few multiply-adds for each
// activation, so memory and the number of nodes weigh more than in ResNet-9. mobilenet_v2 trains
// the textbook way, Adam for five epochs; mobilenet_v2_full has its source's complete recipe.
// Source: kuangliu/pytorch-cifar, models/mobilenetv2.py and main.py; the network: Sandler et al.,
// arXiv:1801.04381.
#pragma once

#include "workloads/workload.h"

namespace regatta {

Workload mobilenet_v2();
Workload mobilenet_v2_full();
// A quarter of the channels and groups of 8 examples, for tests: not in the table of workloads.
Workload mobilenet_v2_narrow();
Workload mobilenet_v2_full_narrow();

}  // namespace regatta
