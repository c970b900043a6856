// SPDX-License-Identifier: Apache-2.0
//
// Formats the error texts for command lines that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace regatta::plan {

/// Returns the text for a parse error. For an unknown flag or subcommand it suggests the nearest
/// valid one.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace regatta::plan
