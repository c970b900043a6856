// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/plan_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "harness/system/command_text.h"
#include "harness/system/number.h"
#include "harness/system/terminal.h"

namespace regatta::cli {
namespace {

using simulate::bytes_text;
using simulate::Candidate;

constexpr const char* kRow = "{:>19}  {:>13}  {:>9}  {:>11}  {}\n";

void show_row(std::ostream& out, const Candidate& each) {
  const double ns = each.step_ns.value_or(each.bound_ns);
  const double speed = 1e9 / each.ns_per_example() * static_cast<double>(each.tokens.value_or(1));
  out << fmt::format(kRow, fmt::format("{}{:.6g} ms", each.step_ns ? "" : "at least ", ns * 1e-6),
                     fmt::format("{}{:.4g}", each.step_ns ? "" : "< ", speed),
                     bytes_text(each.memory_bytes), bytes_text(each.bytes_sent), each.name);
}

/// Prints the candidates that fit, then those that do not.
void show_table(std::ostream& out, const simulate::SearchResult& found) {
  const bool has_tokens = !found.fit.empty() && found.fit.front().tokens;
  out << fmt::format(kRow, "step", has_tokens ? "tokens/s" : "examples/s", "memory", "sent a step",
                     "strategy");
  bool simulated = true;
  for (const Candidate& each : found.fit) {
    if (simulated && !each.step_ns)
      out << "not simulated, because a lower bound of the step is above the fifth best:\n";
    simulated = each.step_ns.has_value();
    show_row(out, each);
  }
  out << "step: mean; memory: planned, of the worker with most; sent: by all workers\n";
  if (!found.too_large.empty()) {
    out << fmt::format("\ndo not fit in {}:\n", found.limit);
  }
  for (const Candidate& each : found.too_large) {
    out << fmt::format("{:>9}, {} too much: {}\n", bytes_text(each.memory_bytes),
                       bytes_text(each.memory_bytes - found.limit_bytes), each.name);
  }
  if (!found.refused.empty()) out << "\nleft out:\n";
  for (const auto& [reason, count] : found.refused) {
    out << fmt::format("{}: {}\n", system::plural(count, "combination"),
                       system::short_line(reason));
  }
}

/// Prints the flags as keys of a matrix.
void show_keys(std::ostream& out, const std::vector<std::string>& flags) {
  for (auto word = flags.begin(); word != flags.end(); ++word) {
    const std::size_t end = word->find('=');
    std::string key = word->substr(2, end - 2);
    std::ranges::replace(key, '-', '_');
    out << fmt::format("{} = '{}'\n", key,
                       end == std::string::npos ? *++word : word->substr(end + 1));
  }
}

/// Prints the best candidates as commands, and as a matrix.
void show_races(std::ostream& out, const simulate::SearchResult& found) {
  const std::size_t best = std::min(simulate::kBest, found.fit.size());
  out << "\nto run one, with its processes on this machine, or with --cluster FILE in virtual "
         "time:\n";
  for (std::size_t i = 0; i < best; ++i) {
    out << "regatta run " << system::command_text(found.fit[i].flags) << '\n';
  }
  out << "\nto race them, as the FILE of regatta matrix FILE:\nseeds = 5\n";
  for (std::size_t i = 0; i < best; ++i) {
    out << "[[race]]\n";
    show_keys(out, found.fit[i].flags);
  }
}

}  // namespace

void plan_command(std::ostream& out, const simulate::SearchRequest& request) {
  const bool shows = isatty(STDERR_FILENO) != 0;
  const auto show = [](const std::string& text) { std::cerr << "\r\x1b[K" << text << std::flush; };
  const simulate::SearchResult found =
      simulate::search(request, [&](std::size_t i, std::size_t all, const std::string& name) {
        if (shows) show(fmt::format("{} of {}: {}", i + 1, all, name));
      });
  if (shows) show("");
  show_table(out, found);
  show_races(out, found);
}

}  // namespace regatta::cli
