// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/flag_errors.h"

#include <string>
#include <vector>

#include "kernels/base/names.h"

namespace regatta::plan {
namespace {

/// Offers the nearest subcommand for one that does not exist.
std::string explain_subcommand(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(sub->get_name());
  }
  const std::vector<std::string> extras = app.remaining();
  if (!extras.empty()) return unknown_name("subcommand", extras.front(), names).what();
  return "a subcommand is required (valid: " + CLI::detail::join(names, " ") + ")";
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* active = &app;
  for (const CLI::App* sub : app.get_subcommands()) active = sub;
  const std::vector<std::string> extras = active->remaining();
  const bool is_flag = !extras.empty() && extras.front().rfind("--", 0) == 0;
  if (active == &app && !is_flag) return explain_subcommand(app);
  if (!is_flag) return error.what();
  std::vector<std::string> names;
  for (const CLI::Option* option : active->get_options()) names.push_back(option->get_name());
  std::string given = extras.front();
  given = given.substr(0, given.find('='));
  return unknown_name("flag", given, names).what();
}

}  // namespace regatta::plan
