// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/flag_values.h"

#include <set>
#include <string_view>

#include "harness/plan/flag_errors.h"
#include "kernels/base/error.h"
#include "workloads/workload.h"

namespace regatta::plan {
namespace {

/// Refuses empty words: `--tls "$UNSET"` must be an error, not a run without TLS.
void require_no_empty_word(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    std::string where;
    if (word.empty()) {
      where =
          i > 1 && std::string_view(argv[i - 1]).starts_with("--") ? argv[i - 1] : "an argument";
    } else if (word.starts_with("--") && word.ends_with('=')) {
      where = word.substr(0, word.size() - 1);
    } else {
      continue;
    }
    throw RunError(ErrorKind::Usage, where + " is empty; fix: give a value, or leave it out");
  }
}

/// The flag `name` of this subcommand, else of the program; null if absent.
const CLI::Option* flag_named(const CLI::App& app, std::string_view subcommand,
                              std::string_view name) {
  const auto chosen =
      app.get_subcommands([&](const CLI::App* each) { return each->get_name() == subcommand; });
  return (chosen.empty() ? app : *chosen.front()).get_option_no_throw(std::string(name));
}

/// Refuses flags as values: `--out $UNSET --seed 2` must be an error, not a folder called --seed.
void require_no_flag_as_value(const CLI::App& app, int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string flag(word.substr(0, equals));
    if (!word.starts_with("--")) continue;
    std::string_view value;
    if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (const CLI::Option* option = flag_named(app, argv[1], word);
               option != nullptr && option->get_items_expected_min() > 0 && i + 1 < argc) {
      value = argv[++i];
    }
    if (!value.starts_with("--")) continue;
    throw RunError(ErrorKind::Usage, flag + " is followed by " + std::string(value) +
                                         ", which is a flag; fix: give a value, or a path as ./" +
                                         std::string(value));
  }
}

/// Refuses repeated flags, because CLI11 accepts a flag without a value any number of times.
void require_no_flag_twice(int argc, const char* const* argv) {
  std::set<std::string_view> given;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view flag = word.substr(0, word.find('='));
    if (!word.starts_with("--") || given.insert(flag).second) continue;
    throw RunError(ErrorKind::Usage, std::string(flag) + " is given twice");
  }
}

/// Refuses flags after `--`, because CLI11 passes a subcommand's surplus words to the program,
/// which would take `--help` as a flag.
void require_no_flag_behind_mark(int argc, const char* const* argv) {
  bool behind = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (behind && word.starts_with('-')) {
      throw RunError(ErrorKind::Usage, "behind -- there are no flags; fix: give " +
                                           std::string(word) + " before it, or a path as ./" +
                                           std::string(word));
    }
    behind |= word == "--";
  }
}

}  // namespace

void add_data_dir(CLI::App& app, std::string& folder) {
  std::string own;
  for (const workloads::DataSource& source : workloads::all_data_sources()) {
    if (source.folder.empty()) continue;
    own += fmt::format("{}{} for {}", own.empty() ? "" : ", ", source.folder, source.name);
  }
  add_value(app, "--data-dir", folder,
            "folder of the data set, if it is files (default: " + own + ")");
}

void add_overwrite(CLI::App& app, system::IfThere& if_there, const std::string& what) {
  app.add_flag_callback(
      "--overwrite", [&if_there] { if_there = system::IfThere::Replace; },
      "replace " + what + " if it is there; records are never replaced");
}

void parse_words(CLI::App& app, int argc, const char* const* argv) {
  require_no_empty_word(argc, argv);
  require_no_flag_as_value(app, argc, argv);
  require_no_flag_behind_mark(argc, argv);
  require_no_flag_twice(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    throw RunError(ErrorKind::Usage, explain(app, error));
  }
}

}  // namespace regatta::plan
