// SPDX-License-Identifier: Apache-2.0
//
// Runs programs as child processes, mostly this program itself, so that a run that crashes or is
// killed for memory does not affect other runs. A child dies with this process. Threads: one, in a
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

/// While an instance exists, SIGINT and SIGTERM do not end this process but are passed to the
/// running child, which then has time to stop its own children. One instance at a time.
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
/// Its flags: ignore PYTHONPATH, PYTHONHOME, PYTHONSAFEPATH and the user's own packages.
inline constexpr char kIsolated[] = "-Es";

/// The prefix of lines on stderr that are not errors.
inline constexpr std::string_view kWarning = "regatta: warning: ";

struct ChildEnd {
  int exit_code = 0;       ///< -1 if a signal ended it
  int signal = 0;          ///< the signal that ended it; 0: none
  std::string last_error;  ///< the last line on stderr that is not a warning
};

using ForLine = std::function<void(const std::string&)>;

/// A pipe from a child, read as lines. Only the child's own descriptor survives the start of its
/// program.
class LinePipe {
 public:
  /// Throws: RunError(Io).
  LinePipe();
  ~LinePipe();
  LinePipe(const LinePipe&) = delete;
  LinePipe& operator=(const LinePipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  /// Closes this process's writing end, once the child has its own.
  void close_writing();
  /// Waits for output and reads it. Returns false if the other end is closed.
  bool read_more(const ForLine& line);

 private:
  std::array<int, 2> ends_{-1, -1};
  std::string partial_;
};

/// The exit code of a child for which run_program() found no program.
inline constexpr int kNoProgram = 127;

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNever = Deadline::max();

/// Runs a program and returns when it has ended. `path`: a name without a slash is searched in
/// PATH. `words`: its name and arguments. `line`, `error`: called for each line on stdout and on
/// stderr. A program that has either open at the deadline is killed. Throws: RunError(Io) if no
/// child can be started.
ChildEnd run_program(const std::string& path, std::vector<std::string> words, const ForLine& line,
                     const ForLine& error = {}, Deadline deadline = kNever);

/// The first line that a program prints on stdout before the deadline; empty if it prints none.
/// Threads: may be called while others run, as long as they start no program.
std::string first_line_of(const std::vector<std::string>& words, Deadline deadline = kNever);

/// Whether PATH has a program of this name.
bool is_in_path(const std::string& name);

/// Runs this program itself by run_program().
ChildEnd run_child(const std::vector<std::string>& arguments, const ForLine& line,
                   Deadline deadline = kNever);

}  // namespace regatta
