// SPDX-License-Identifier: Apache-2.0
#include "harness/warnings.h"

#include <algorithm>

namespace regatta {

std::string warning_of(const RaceRequest& request, const MachineFacts& machine) {
  const auto has = [&](const char* extension) {
    return std::find(machine.isa.begin(), machine.isa.end(), extension) != machine.isa.end();
  };
  const bool slow_bf16 = request.dtype == "bf16" && request.device == "cpu" && has("avx512f");
  if (!slow_bf16 || has("amx_bf16")) return "";
  return "this processor has AVX-512 but no AMX, so bf16 may be slower than --dtype f32 here";
}

}  // namespace regatta
