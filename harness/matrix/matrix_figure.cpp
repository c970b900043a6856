// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/system/child.h"
#include "harness/system/program_files.h"
#include "kernels/base/error.h"

namespace regatta::matrix {
namespace {

constexpr double kLeastPause = 5;  // s
constexpr double kShare = 20;      // the pause between drawings, in durations of a drawing

double seconds(std::chrono::steady_clock::duration span) {
  return std::chrono::duration<double>(span).count();
}

std::string find_script() {
  if (const auto script = system::find_program_file("plots/race.py")) return script->string();
  throw RunError(
      ErrorKind::Unsupported,
      "--draw: this program has no plots/race.py beside it, which draws; fix: leave the flag "
      "out, install Regatta again, or run it inside its checkout");
}

}  // namespace

bool drawing_is_due(double since_last, double cost) {
  return since_last >= std::max(kLeastPause, kShare * cost);
}

GrowingFigure::GrowingFigure(std::string folder)
    : folder_(std::move(folder)), script_(find_script()) {}

bool GrowingFigure::is_due() const {
  return !broken_ && drawing_is_due(seconds(Clock::now() - last_), cost_);
}

std::string GrowingFigure::draw() {
  const Clock::time_point begin = Clock::now();
  const system::ChildEnd end = system::run_program(
      system::python(), {system::python(), system::isolated(), "-B", script_, "--growing", folder_},
      [](const std::string&) {});
  last_ = Clock::now();
  cost_ = seconds(last_ - begin);
  if (end.exit_code == 0 || end.signal != 0) return "";
  broken_ = true;
  return end.last_error.empty() ? fmt::format("exit code {}", end.exit_code) : end.last_error;
}

}  // namespace regatta::matrix
