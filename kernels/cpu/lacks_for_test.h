// SPDX-License-Identifier: Apache-2.0
//
// For tests that skip on a processor without the instructions that they need.
#pragma once

#include <string>

#include "kernels/cpu/amx.h"
#include "kernels/graph/tensor_type.h"

namespace regatta::cpu {

/// The reason why this processor cannot compute whole models in `element`; empty if it can.
inline std::string why_cpu_lacks(ElementType element) {
  if (element != ElementType::BF16 || has_avx512()) return {};
  return "oneDNN computes bf16 only with AVX-512, which this processor lacks (or "
         "ONEDNN_MAX_CPU_ISA forbids)";
}

}  // namespace regatta::cpu
