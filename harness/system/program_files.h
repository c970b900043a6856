// SPDX-License-Identifier: Apache-2.0
//
// What the program reads when it runs and does not hold itself: plots/, results/, scripts of ci/.
// An installed program, PREFIX/bin/regatta, has them in PREFIX/share/regatta, which install.cmake
// fills; one that was built inside its checkout has those of the checkout.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace regatta {

/// Of an installed program, whether it is one or not.
std::filesystem::path installed_folder();

/// `name` of the installation where there is one, else below the nearest folder above the program
/// that has it; nothing where none has.
std::optional<std::filesystem::path> find_program_file(const std::filesystem::path& name);

/// A script as a user calls it: `ci/fetch_cifar10`, or by its full path where it is installed.
std::string callable(const std::filesystem::path& script);

}  // namespace regatta
