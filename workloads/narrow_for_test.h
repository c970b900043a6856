// SPDX-License-Identifier: Apache-2.0
//
// Workloads with narrow models, which a test can train in seconds: they have an eighth to a half of
// the channels, and small normalisation groups. They are not in the table of workloads.
#pragma once

#include "workloads/workload.h"

namespace regatta::testing_support {

workloads::Workload resnet9_narrow();  ///< 4 examples a group
workloads::Workload airbench94_narrow();
workloads::Workload airbench94_muon_narrow();
workloads::Workload mobilenet_v2_narrow();
workloads::Workload mobilenet_v2_full_narrow();
workloads::Workload gpt_narrow();    ///< sequences of 8 tokens, 16 symbols
workloads::Workload llama_narrow();  ///< the same, with Llama's blocks
workloads::Workload gpt_narrow_muon();
workloads::Workload gpt_narrow_sgd();    ///< without clipping: a wrong scale of gradients shows
workloads::Workload gpt_context();       ///< sequences of 24 tokens, 12 heads
workloads::Workload llama_context();     ///< the same with Llama's blocks, without clipping
workloads::Workload parabola_clipped();  ///< every step's gradients are clipped

}  // namespace regatta::testing_support
