// SPDX-License-Identifier: Apache-2.0
//
// Runs programs as child processes, mostly this program itself, so that a run that crashes or is
// killed for lack of memory does not affect other runs. A child is killed when this process ends.
// Threads: used from the only thread of a process.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace regatta::system {

/// While an instance exists, SIGINT and SIGTERM do not end this process but are passed to the
/// running child, which can then stop its own children. Only one instance may exist at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// The signal that was received; 0 if none was.
  int received() const;

 private:
  std::array<struct sigaction, 2> former_{};
};

/// Returns the interpreter for the scripts of plots/: /usr/bin/python3, or that of the wheel whose
/// command has started this program (REGATTA_PYTHON, set by ci/regatta_bench).
std::string python();
/// Returns the interpreter's flags: ignore Python's environment variables (PYTHONPATH, PYTHONHOME,
/// ...) and the user's own packages, unless a wheel may be among these.
std::string isolated();

/// The prefix of lines on stderr that are not errors.
inline constexpr std::string_view kWarning = "regatta: warning: ";

struct ChildEnd {
  int exit_code = 0;       ///< -1 if a signal ended it
  int signal = 0;          ///< the signal that ended it; 0: none
  std::string last_error;  ///< the last line on stderr that is not a warning
};

using ForLine = std::function<void(const std::string&)>;

/// A pipe from a child, read as lines. Both descriptors close on exec, so the child must duplicate
/// writing() to the stream that it redirects.
class LinePipe {
 public:
  /// Splits lines into pieces of about `longest` bytes. Throws: RunError(Io).
  explicit LinePipe(std::size_t longest = std::string::npos);
  ~LinePipe();
  LinePipe(const LinePipe&) = delete;
  LinePipe& operator=(const LinePipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  /// Closes this process's writing end. Called once the child has its own copy.
  void close_writing();
  /// Waits for output and calls `line` for each complete line. Returns false if the child has
  /// closed its end.
  bool read_more(const ForLine& line);

 private:
  std::array<int, 2> ends_{-1, -1};
  std::size_t longest_;
  std::string partial_;
};

/// The exit code that run_program() reports if it does not find the program.
inline constexpr int kNoProgram = 127;

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNever = Deadline::max();

/// Runs the program at `path` and returns when it has ended; searches PATH for a name without a
/// slash. `words` are the program's name and arguments. Calls `line` and `error` for each line on
/// stdout and stderr. Kills the program if it still has one of these open at the deadline. Throws:
/// RunError(Io) if no child can be started.
ChildEnd run_program(const std::string& path, std::vector<std::string> words, const ForLine& line,
                     const ForLine& error = {}, Deadline deadline = kNever);

/// Returns the first line that a program prints on stdout before the deadline; empty if it prints
/// none. Threads: other threads may run meanwhile, but must not start programs.
std::string first_line_of(const std::vector<std::string>& words, Deadline deadline = kNever);

/// This process's environment, with `others` in place of entries of the same name.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& others);

/// Returns pointers to the texts and a final null, for functions such as execve().
std::vector<char*> pointers_to(std::vector<std::string>& texts);

bool is_in_path(const std::string& name);

/// Runs this program again as a child, like run_program(). `arguments` exclude the program's name.
ChildEnd run_child(const std::vector<std::string>& arguments, const ForLine& line);

}  // namespace regatta::system
