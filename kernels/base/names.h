// SPDX-License-Identifier: Apache-2.0
//
// The error for an unknown name: one line that suggests the nearest valid name.
#pragma once

#include <span>
#include <string>

#include "kernels/base/error.h"

namespace regatta {

/// Returns the name with the smallest edit distance to `given`; empty if more than half of the
/// characters would have to change.
std::string nearest_name(const std::string& given, std::span<const std::string> names);

/// Returns RunError(Usage) with a text such as "unknown strategy 'al_reduce'; did you mean
/// 'all_reduce'? (valid: ...)".
RunError unknown_name(const std::string& what, const std::string& given,
                      std::span<const std::string> names);

}  // namespace regatta
