// SPDX-License-Identifier: Apache-2.0
//
// Runs programs as child processes, mostly this program itself, so that a run that crashes or is
// killed for memory takes nothing else with it. A child dies with this process. Threads: one, in a
// process without other threads.
#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace regatta {

/// While this lives, SIGINT and SIGTERM do not end this process; they are passed to the running
/// child, which then has time to stop its own children. One at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// The signal received; 0: none.
  int received() const;

 private:
  std::array<struct sigaction, 2> former_{};
};

/// The interpreter for the scripts of plots/.
inline constexpr char kPython[] = "/usr/bin/python3";

/// The prefix of lines on stderr that are not errors.
inline constexpr std::string_view kWarning = "regatta: warning: ";

struct ChildEnd {
  int exit_code = 0;       ///< -1 when a signal ended it
  int signal = 0;          ///< that ended it; 0: none
  std::string last_error;  ///< the last line on stderr that is not a warning
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
