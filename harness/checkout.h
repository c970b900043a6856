// SPDX-License-Identifier: Apache-2.0
//
// The checkout that this program was built in, for what is not in the program.
#pragma once

#include <filesystem>
#include <optional>

namespace regatta {

/// `name` below the nearest folder above the program that has it; nothing where none has.
std::optional<std::filesystem::path> find_in_checkout(const std::filesystem::path& name);

}  // namespace regatta
