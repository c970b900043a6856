// SPDX-License-Identifier: Apache-2.0
//
// The layout of --help: the description of each flag or subcommand is wrapped to the width of the
// terminal (80 columns on a pipe), in a column beside the flags if there is room, else below them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace regatta::cli {

std::shared_ptr<CLI::FormatterBase> help_format();

}  // namespace regatta::cli
