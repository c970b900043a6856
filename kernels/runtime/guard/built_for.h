// SPDX-License-Identifier: Apache-2.0
//
// The x86-64 extensions that the compiler was allowed to use (REGATTA_ARCH). processor_check.cpp
// checks that the processor has them before any other code runs.
#pragma once

namespace regatta {

struct BuiltFor {
  const char* arch;               ///< as in -march=
  const char* const* extensions;  ///< names as __builtin_cpu_supports() takes them, then null
};

extern const BuiltFor kBuiltFor;

}  // namespace regatta
