// SPDX-License-Identifier: Apache-2.0
//
// In place of built_for.cpp: extensions that no processor has, beside one that each has.
#include "kernels/runtime/guard/built_for.h"

namespace regatta {
namespace {

constexpr const char* kExtensions[] = {"popcnt", "no_such_extension", "avx10000", nullptr};

}  // namespace

constinit const BuiltFor kBuiltFor{.arch = "x86-64-v9", .extensions = kExtensions};

}  // namespace regatta
