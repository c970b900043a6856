// SPDX-License-Identifier: Apache-2.0
//
// Finds files that the program reads at run time: plots/, results/, scripts of ci/. An installed
// program, PREFIX/bin/regatta, finds them in PREFIX/share/regatta, which ci/install.cmake fills; a
// program built inside its checkout uses those of the checkout.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace regatta::system {

/// The folder that an installation of this program would use, even if it is not installed.
std::filesystem::path installed_folder();

/// Finds the file `name` in installed_folder() if that folder exists, otherwise in the nearest
/// folder above the program that has the file; empty if it is not found.
std::optional<std::filesystem::path> find_program_file(const std::filesystem::path& name);

/// The path with which a user can call a script: `ci/fetch_cifar10` in a checkout, or the script's
/// full path in an installation.
std::string callable(const std::filesystem::path& script);

}  // namespace regatta::system
