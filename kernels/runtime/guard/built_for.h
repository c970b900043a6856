// SPDX-License-Identifier: Apache-2.0
//
// The x86-64 instruction set extensions that this build may use (CMake option REGATTA_ARCH).
// processor_check.cpp checks that the processor has them before any other code runs.
#pragma once

namespace regatta {

struct BuiltFor {
  const char* arch;               ///< the compiler's -march= value
  const char* const* extensions;  ///< names for __builtin_cpu_supports(), ended by null
};

extern const BuiltFor kBuiltFor;

}  // namespace regatta
