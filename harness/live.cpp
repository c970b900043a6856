// SPDX-License-Identifier: Apache-2.0
#include "harness/live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace regatta {
namespace {

std::string colored(const std::string& text, const char* code) {
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string seconds(std::int64_t ns) {
  const double value = static_cast<double>(ns) * 1e-9;
  return value < 1 ? fmt::format("{:.1f} ms", value * 1e3) : fmt::format("{:.2f} s", value);
}

std::string metric_text(const Record& record, double metric) {
  return record.target.metric == "accuracy" ? fmt::format("accuracy {:.2f} %", metric)
                                            : fmt::format("loss {:.4g}", metric);
}

}  // namespace

LiveLine::LiveLine(const RaceRequest& request)
    : name_(fmt::format("{} {} x{} seed {}", request.workload, request.strategy, request.workers,
                        request.seed)),
      terminal_(isatty(STDOUT_FILENO) != 0),
      color_(terminal_ && std::getenv("NO_COLOR") == nullptr) {}

void LiveLine::show(const RaceProgress& progress) {
  if (!terminal_ && !progress.loss) return;
  if (progress.loss) {
    judged_ = fmt::format("  loss {:.4f}", *progress.loss);
    if (progress.metric != progress.loss) {
      judged_ += fmt::format("  accuracy {:.2f} %", *progress.metric);
    }
  }
  std::string line = fmt::format("{}: step {}{}", name_, progress.step, judged_);
  line += fmt::format("  {:.0f} examples/s  {:.0f} s left", progress.examples_per_s,
                      progress.seconds_left);
  const std::int64_t tenth = progress.examples * 10 / progress.total_examples;
  if (terminal_) {
    fmt::print("\r\x1b[K{}", line);
  } else if (tenth != last_tenth_) {
    last_tenth_ = tenth;
    fmt::print("{}\n", line);
  }
  std::fflush(stdout);
}

void LiveLine::tell(const std::string& line) {
  fmt::print("{}{}\n", terminal_ ? "\r\x1b[K" : "", line);
  std::fflush(stdout);
}

void LiveLine::conclude(const Record& record, const std::string& folder) {
  if (terminal_) fmt::print("\r\x1b[K");
  std::string verdict(to_string(record.status));
  if (color_) verdict = colored(verdict, record.status == Status::Reached ? "32" : "31");
  std::string line = fmt::format("{}: {}", name_, verdict);
  if (record.failure) line += ": " + record.failure->text;
  if (record.training_time_to_target_ns) {
    line += fmt::format(" {} in {} of training", metric_text(record, record.target.value),
                        seconds(*record.training_time_to_target_ns));
  }
  if (!record.evaluations.empty()) {
    line += fmt::format("; ended at {} after {}, {:.0f} examples/s",
                        metric_text(record, record.evaluations.back().metric),
                        seconds(record.training_ns), record.examples_per_s);
  }
  fmt::print("{}; record in {}/records.jsonl\n", line, folder);
}

}  // namespace regatta
