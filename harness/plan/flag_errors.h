// SPDX-License-Identifier: Apache-2.0
//
// What a command line that cannot be read is told.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace regatta {

/// Offers the nearest flag, or subcommand, for one that does not exist.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace regatta
