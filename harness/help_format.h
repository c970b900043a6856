// SPDX-License-Identifier: Apache-2.0
//
// The layout of --help: the text of a flag or a subcommand is wrapped to the width of the terminal,
// or to 80 columns on a pipe, in a column of its own if there is room for one.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace regatta {

std::shared_ptr<CLI::FormatterBase> help_format();

}  // namespace regatta
