// SPDX-License-Identifier: Apache-2.0
//
// Runs programs as child processes, mostly this program itself, so that a run that crashes or is
// killed for memory takes nothing else with it. A child dies with this process. Threads: one, in a
// process without other threads.
#pragma once

#include <array>
#include <chrono>
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
/// Its flags: without PYTHONPATH, PYTHONHOME and PYTHONSAFEPATH, and packages of the user's own.
inline constexpr char kIsolated[] = "-Es";

/// The prefix of lines on stderr that are not errors.
inline constexpr std::string_view kWarning = "regatta: warning: ";

struct ChildEnd {
  int exit_code = 0;       ///< -1 when a signal ended it
  int signal = 0;          ///< that ended it; 0: none
  std::string last_error;  ///< the last line on stderr that is not a warning
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

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNever = Deadline::max();

/// Runs a program and returns when it has ended. `path`: a name without a slash is looked for in
/// PATH. `words`: its name and arguments. `line`, `error`: told of each line that it prints on
/// stdout and on stderr. One that has either open at the deadline is killed. Throws: RunError(Io)
/// when no child can be started.
ChildEnd run_program(const std::string& path, std::vector<std::string> words, const ForLine& line,
                     const ForLine& error = {}, Deadline deadline = kNever);

/// The first line that a program prints on stdout until the deadline; empty when it prints none.
/// Threads: may be called beside others, as long as they start none.
std::string first_line_of(const std::vector<std::string>& words, Deadline deadline = kNever);

/// Whether PATH has a program of this name.
bool is_in_path(const std::string& name);

/// run_program() with this program.
ChildEnd run_child(const std::vector<std::string>& arguments, const ForLine& line,
                   Deadline deadline = kNever);

}  // namespace regatta
