// SPDX-License-Identifier: Apache-2.0
//
// What a program needs of its processor: the extensions of x86-64 that its compiler was allowed to
// use (REGATTA_ARCH). processor_check.cpp looks for them before anything else runs.
#pragma once

namespace regatta {

struct BuiltFor {
  const char* arch;               ///< as in -march=
  const char* const* extensions;  ///< names as __builtin_cpu_supports() takes them, then null
};

extern const BuiltFor kBuiltFor;

}  // namespace regatta
