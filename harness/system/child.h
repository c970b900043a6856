// SPDX-License-Identifier: Apache-2.0
//
// Programs as children, above all this one once more: so that a run that crashes, or is killed for
// memory, takes nothing else with it. The child dies when this process does.
// Threads: one, which has no others beside it.
#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// While this lives, SIGINT and SIGTERM end nothing by themselves: they reach the child that runs,
/// which then has time to end its own. There is one at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// The signal that has come; 0: none.
  int received() const;

 private:
  std::array<struct sigaction, 2> former_{};
};

/// What runs the scripts of plots/.
inline constexpr char kPython[] = "/usr/bin/python3";

/// What a line on stderr begins with that tells no error.
inline constexpr std::string_view kWarning = "regatta: warning: ";

struct ChildEnd {
  int exit_code = 0;       ///< -1 when a signal ended it
  int signal = 0;          ///< that ended it; 0: none
  std::string last_error;  ///< the last line it printed on stderr, less warnings
};

/// Runs a program and returns when it has ended. `words`: its name and arguments. `line`: told of
/// each line that it prints. Exit code 127: there is no such program. Throws: RunError(Io) when no
/// child can be started.
ChildEnd run_program(const std::string& path, std::vector<std::string> words,
                     const std::function<void(const std::string&)>& line);

/// run_program() with this program.
ChildEnd run_child(const std::vector<std::string>& arguments,
                   const std::function<void(const std::string&)>& line);

}  // namespace regatta
