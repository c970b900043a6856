// SPDX-License-Identifier: Apache-2.0
//
// The two ways to fail. check() is for bugs: it aborts with file and line in every build type.
// RunError is for a run that cannot continue (bad argument, missing data, diverged loss): the
// harness catches it in one place and records a failed run.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace regatta {

/// Aborts the process with the caller's file and line if `condition` is false.
void check(bool condition, std::string_view rule,
           std::source_location where = std::source_location::current());

/// The reason why a run cannot continue; to_string() gives the value of `failure.kind` in a record.
enum class ErrorKind {
  Usage,        ///< an invalid flag, name or combination
  Data,         ///< a data set is missing or damaged
  Diverged,     ///< a loss or a tensor is not finite
  PeerLost,     ///< another process of the run is lost
  Timeout,      ///< a wait passed its deadline
  Unsupported,  ///< this build or machine has no implementation
  Io,           ///< a file could not be written
  Device,       ///< an accelerator or its driver is missing, full or failed
  Cancelled,    ///< the cluster's scheduler took the machines back
  Program,      ///< another program (--program) broke the protocol or computed something else
};

/// Returns `usage`, `data`, ...
std::string_view to_string(ErrorKind kind);

/// Thrown when a run cannot continue. `text` is one line that describes the failure and its remedy.
class RunError : public std::runtime_error {
 public:
  RunError(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace regatta
