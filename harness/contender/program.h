// SPDX-License-Identifier: Apache-2.0
//
// Another program as a process: in a process group of its own, on given cores, with a pipe for its
// events, and with a mark in its environment by which its descendants are found, wherever they are.
// Threads: used from one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/ranks/keeper.h"
#include "harness/ranks/local_processes.h"
#include "harness/system/child.h"

namespace regatta::contender {

struct ProgramStart {
  std::string command;  ///< for /bin/sh
  std::map<std::string, std::string> environment;
  std::vector<int> cores;
  std::string mark;  ///< an entry of `environment` that no other process has
};

/// Where a line comes from: standard output or error, or the pipe for events.
enum class Source : std::uint8_t { Output, Events };

class Program {
 public:
  using ForLine = std::function<void(Source, const std::string&)>;

  /// Starts the program, which the keeper ends if this process is killed. The number of the pipe
  /// for events is added to its environment as REGATTA_PIPE. Throws: RunError(Io).
  Program(ProgramStart start, ranks::Keeper& keeper);
  /// Ends the program and all its descendants.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Waits up to `limit` until there are lines or the program has ended, and passes the lines on.
  /// Returns false if there is nothing.
  bool read(std::chrono::milliseconds limit, const ForLine& line);

  bool has_ended() const { return ended_; }
  /// Returns how it ended: `ended with exit code 1`; empty for exit code 0.
  std::string how_it_ended() const;
  /// Waits up to `patience` for the descendants of an ended program. Returns how many are left.
  std::size_t left_behind(std::chrono::milliseconds patience) const;

 private:
  std::string mark_;
  system::LinePipe output_, errors_, events_;
  bool output_open_ = true, errors_open_ = true, events_open_ = true;
  pid_t process_ = 0;
  std::optional<ranks::ProcessHandle> handle_;
  bool ended_ = false;  ///< but it is not reaped, so that its number remains its group's
  int exit_code_ = 0;
  int signal_ = 0;  ///< signal that ended it; 0: none
};

}  // namespace regatta::contender
