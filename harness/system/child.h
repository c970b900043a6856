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

using ForLine = std::function<void(const std::string&)>;

/// A pipe from a child, read as lines. Only the descriptor that the child makes its own survives
/// its start.
class LinePipe {
 public:
  /// Throws: RunError(Io).
  LinePipe();
  ~LinePipe();
  LinePipe(const LinePipe&) = delete;
  LinePipe& operator=(const LinePipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  /// Once the child has its own.
  void close_writing();
  /// Waits until there is something, and reads it. False: the other end is closed.
  bool read_more(const ForLine& line);

 private:
  std::array<int, 2> ends_{-1, -1};
  std::string partial_;
};

/// Where run_program() found no such program.
inline constexpr int kNoProgram = 127;

/// Runs a program and returns when it has ended. `path`: a name without a slash is looked for in
/// PATH. `words`: its name and arguments. `line`, `error`: told of each line that it prints on
/// stdout and on stderr. Throws: RunError(Io) when no child can be started.
ChildEnd run_program(const std::string& path, std::vector<std::string> words, const ForLine& line,
                     const ForLine& error = {});

/// run_program() with this program.
ChildEnd run_child(const std::vector<std::string>& arguments, const ForLine& line);

}  // namespace regatta
