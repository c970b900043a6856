// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/flag_values.h"

#include <set>
#include <string_view>

#include "harness/plan/flag_errors.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

/// `--tls "$UNSET"` has to be an error instead of a run without TLS.
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

/// CLI11 takes a flag without a value as often as it is given.
void require_no_flag_twice(int argc, const char* const* argv) {
  std::set<std::string_view> given;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string_view flag = word.substr(0, word.find('='));
    if (!word.starts_with("--") || given.insert(flag).second) continue;
    throw RunError(ErrorKind::Usage, std::string(flag) + " is given twice");
  }
}

}  // namespace

void add_overwrite(CLI::App& app, IfThere& if_there, const std::string& what) {
  app.add_flag_callback(
      "--overwrite", [&if_there] { if_there = IfThere::Replace; },
      "replace " + what + " if it is there; records are never replaced");
}

void parse_words(CLI::App& app, int argc, const char* const* argv) {
  require_no_empty_word(argc, argv);
  require_no_flag_twice(argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success&) {
    throw;
  } catch (const CLI::ParseError& error) {
    throw RunError(ErrorKind::Usage, explain(app, error));
  }
}

}  // namespace regatta
