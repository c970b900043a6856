// SPDX-License-Identifier: Apache-2.0
//
// The form of --help: what is said of a flag or a subcommand is wrapped within the width of the
// terminal, or 80 columns on a pipe, in a column of its own where there is room for one.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace regatta {

std::shared_ptr<CLI::FormatterBase> help_format();

}  // namespace regatta
