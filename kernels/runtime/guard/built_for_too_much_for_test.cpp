// SPDX-License-Identifier: Apache-2.0
//
// Replaces built_for.cpp in a test: lists extensions that no processor has, and one that all have.
#include "kernels/runtime/guard/built_for.h"

namespace regatta {
namespace {

constexpr const char* kExtensions[] = {"popcnt", "no_such_extension", "avx10000", nullptr};

}  // namespace

constinit const BuiltFor kBuiltFor{.arch = "x86-64-v9", .extensions = kExtensions};

}  // namespace regatta
