// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/program.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "harness/cli/run_command.h"
#include "harness/ranks/keeper.h"
#include "harness/simulate/measure_transports.h"
#include "harness/system/before_main.h"
#include "harness/system/process.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::cli {
namespace {

/// Prints an error. A long text, such as one with a long path, is shortened in the middle, because
/// the fault and the fix are at its ends.
void say(const std::string& text) { std::cerr << "regatta: " << system::short_line(text) << '\n'; }

/// Flushes standard output, where output may still be buffered; an error replaces the exit code.
int checked(int exit_code) {
  errno = 0;
  if (std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  say(std::string("cannot write to standard output: ") +
      (errno == 0 ? "it is closed or full" : std::strerror(errno)));
  return kUsage;
}

/// Prints the current exception, also of streams and the file system.
void say_current_error() {
  try {
    say(system::current_run_error().what());
  } catch (const std::exception& error) {
    say(std::string("an error of Regatta itself, which its authors want to know: ") + error.what());
  }
}

}  // namespace

int run_regatta(int argc, char** argv, const std::function<int(const Command&)>& execute) {
  system::restore_surroundings();
  try {
    if (ranks::is_keeper()) return ranks::keep({argv + 1, argv + argc});
    if (simulate::measures_as_rank()) return simulate::measure_as_rank();
    return checked(execute(parse_command_line(argc, argv)));
  } catch (const record::NotKept& error) {
    say(error.what());
    return record::kNotKept;
  } catch (...) {
    say_current_error();
  }
  return kUsage;
}

}  // namespace regatta::cli
