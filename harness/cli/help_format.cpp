// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/help_format.h"

#include <algorithm>
#include <string>

#include "harness/system/terminal.h"

namespace regatta::cli {
namespace {

constexpr std::size_t kMostColumns = 100;  // longer lines are hard to read
constexpr std::size_t kNameColumns = 30;
constexpr std::size_t kLeastTextColumns = 30;
constexpr std::size_t kIndent = 6;  // for a text below its name

class HelpFormat final : public CLI::Formatter {
 public:
  HelpFormat() : columns_(std::min(system::terminal_size().columns, kMostColumns) - 1) {}

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 make_option_desc(option));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

 private:
  std::string entry(const std::string& name, const std::string& text) const {
    std::string lines = "  " + name;
    const bool beside = columns_ >= kNameColumns + kLeastTextColumns;
    const std::size_t indent = beside ? kNameColumns : kIndent;
    bool fits = beside && lines.size() + 2 <= indent;  // the text, beside the name
    for (const std::string& line : system::wrapped(text, columns_ - indent)) {
      lines += fits ? std::string(indent - lines.size(), ' ') : "\n" + std::string(indent, ' ');
      lines += line;
      fits = false;
    }
    return lines + '\n';
  }

  std::size_t columns_;
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_format() { return std::make_shared<HelpFormat>(); }

}  // namespace regatta::cli
