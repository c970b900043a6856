// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/live.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <iterator>

#include "harness/record/record_writer.h"
#include "harness/system/command_text.h"
#include "harness/system/duration.h"
#include "harness/system/number.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::cli {
namespace {

constexpr std::chrono::milliseconds kBetweenDrawings{100};

std::string colored(const std::string& text, const char* code) {
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string seconds(std::int64_t ns) {
  const double value = static_cast<double>(ns) * 1e-9;
  return value < 1 ? fmt::format("{:.1f} ms", value * 1e3) : fmt::format("{:.2f} s", value);
}

/// Formats as `0:07`, `12:30` or `1:02:03`.
std::string elapsed_text(double elapsed_s) {
  const auto s = static_cast<std::int64_t>(elapsed_s);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

bool is_accuracy(const record::Target& target) { return target.metric == "accuracy"; }

std::string metric_text(const record::Target& target, double metric) {
  return is_accuracy(target) ? fmt::format("accuracy {:.2f} %", metric)
                             : fmt::format("loss {:.4g}", metric);
}

/// ` (1.83 bits per byte)`; empty if tokens are no bytes.
std::string bits_text(const std::optional<double>& bits_per_byte) {
  return bits_per_byte ? fmt::format(" ({:.4g} bits per byte)", *bits_per_byte) : "";
}

/// `step 10 of 80`; of a program whose length is not known `step 10`.
std::string step_text(const race::RaceProgress& progress) {
  return progress.steps == 0 ? fmt::format("step {}", progress.step)
                             : fmt::format("step {} of {}", progress.step, progress.steps);
}

std::string target_text(const race::RaceProgress& progress) {
  std::string text = fmt::format("target {:g}", progress.target.value);
  if (is_accuracy(progress.target)) text += " %";
  if (progress.reached_at_step)
    text += fmt::format(" reached at step {}", *progress.reached_at_step);
  return text;
}

std::string verdict_text(const record::Record& record, const std::string& status,
                         const std::string& folder) {
  std::string text = status;
  if (record.failure) text += ": " + record.failure->text;
  if (record.training_time_to_target_ns) {
    text += fmt::format(" {} in {} of {}", metric_text(record.target, record.target.value),
                        seconds(*record.training_time_to_target_ns),
                        record.simulated ? "virtual time" : "training");
    if (record.result_time_to_target_ns && !record.simulated) {
      text += fmt::format(" ({} with its evaluation)", seconds(*record.result_time_to_target_ns));
    }
  }
  if (!record.evaluations.empty()) {
    text += fmt::format("; ended at {}{} after {}, {}",
                        metric_text(record.target, record.evaluations.back().metric),
                        bits_text(record.bits_per_byte), seconds(record.training_ns),
                        record::speed_text(record.examples_per_s, record.tokens_per_s));
  }
  if (record.utilization) text += fmt::format(", MFU {:.1f} %", 100 * record.utilization->mfu);
  const record::Kept kept = record.simulated ? record::Kept::Simulated : record::Kept::Real;
  return text + fmt::format("; record in {}/{}", folder, record::file_of(kept));
}

/// The next command to type: the report, or after a failure a remedy for its kind.
std::string next_command(const record::Record& record, const std::string& folder) {
  if (!record.failure) {
    const std::vector<std::string> report = {"regatta", "report", folder};
    return "to see who came first, and why: " + system::command_text(report);
  }
  const std::string& kind = record.failure->kind;
  if (kind == to_string(ErrorKind::Diverged)) {
    std::vector<std::string> again = system::words_of(record.command);
    const auto flag = std::find(again.begin(), again.end(), "--rate-scale");
    if (flag != again.end()) again.erase(flag, std::next(flag, 2));
    std::erase_if(again, [](const auto& word) { return word.starts_with("--rate-scale="); });
    again.insert(again.end(), {"--rate-scale", fmt::format("{:g}", record.cell.rate_scale / 2)});
    return "to try a lower learning rate: " + system::command_text(again);
  }
  if (kind == to_string(ErrorKind::PeerLost) || kind == to_string(ErrorKind::Timeout) ||
      kind == to_string(ErrorKind::Cancelled) || kind == to_string(ErrorKind::Program)) {
    return "to try it again: " + record.command;
  }
  return "to see what is missing: regatta doctor";
}

/// The remaining time; empty if it is unknown or almost over.
std::string left_text(const race::RaceProgress& progress) {
  if (!progress.seconds_left || *progress.seconds_left < 0.05) return "";
  return fmt::format("about {} left", system::rough_duration(*progress.seconds_left));
}

}  // namespace

std::string name_of_run(const plan::RaceRequest& request) {
  return fmt::format("{} {}, {}, seed {}", request.workload, request.strategy,
                     system::plural(request.workers, "worker"), request.seed);
}

std::vector<std::string> live_pieces(const std::optional<race::RaceProgress>& progress,
                                     double elapsed_s) {
  std::vector<std::string> pieces = {elapsed_text(elapsed_s)};
  if (!progress) {
    pieces.emplace_back("preparing");
    return pieces;
  }
  pieces.push_back(step_text(*progress));
  if (progress->training_loss) {
    pieces.push_back(fmt::format("training loss {:.4g}", *progress->training_loss));
  }
  pieces.push_back(fmt::format("{}{}{} at step {}", is_accuracy(progress->target) ? "" : "test ",
                               metric_text(progress->target, progress->evaluation.metric),
                               bits_text(progress->evaluation.bits_per_byte),
                               progress->evaluation.step));
  pieces.push_back(target_text(*progress));
  if (progress->examples_per_s > 0) {
    pieces.push_back(record::speed_text(progress->examples_per_s, progress->tokens_per_s));
  }
  if (const std::string left = left_text(*progress); !left.empty()) pieces.push_back(left);
  return pieces;
}

LiveLine::LiveLine(const plan::RaceRequest& request)
    : name_(name_of_run(request)), terminal_(system::is_terminal()), color_(system::shows_color()) {
  if (!terminal_) return;
  std::setvbuf(stdout, nullptr, _IOFBF, BUFSIZ);  // each drawing is written at once
  draw();
  ticker_.emplace([this] {
    const std::lock_guard lock(mutex_);
    draw();
  });
}

LiveLine::~LiveLine() {
  ticker_.reset();
  clear();
  std::fflush(stdout);
}

/// Erases the drawn lines and leaves the cursor at the first, where the next output replaces them.
void LiveLine::clear() {
  if (drawn_ > 1) fmt::print("\x1b[{}A", drawn_ - 1);
  if (drawn_ > 0) fmt::print("\r\x1b[J");
  drawn_ = 0;
}

void LiveLine::draw() {
  const std::size_t columns =
      system::terminal_size().columns - 1;  // a full line would move the cursor on
  std::vector<std::string> lines = system::wrapped(name_, columns);
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - begin_).count();
  for (const auto& line : system::wrapped(live_pieces(progress_, elapsed_s), "  ", columns)) {
    lines.push_back(line.substr(0, columns));
  }
  clear();
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "\n") + line.substr(0, columns);
  }
  fmt::print("{}", text);
  std::fflush(stdout);
  drawn_ = lines.size();
  drawn_at_ = Clock::now();
}

void LiveLine::show(const race::RaceProgress& progress) {
  const std::lock_guard lock(mutex_);
  const bool begins = !progress_;
  progress_ = progress;
  if (terminal_) {
    if (begins || Clock::now() - drawn_at_ > kBetweenDrawings) draw();
    return;
  }
  const std::int64_t tenth = progress.steps == 0
                                 ? std::bit_width(static_cast<std::uint64_t>(progress.step))
                                 : progress.step * 10 / progress.steps;
  if (progress.occasion != race::Occasion::Evaluation || tenth == last_tenth_) return;
  last_tenth_ = tenth;
  std::string line =
      fmt::format("{}: {}  loss {:.4f}", name_, step_text(progress), progress.evaluation.loss);
  if (is_accuracy(progress.target)) {
    line += fmt::format("  accuracy {:.2f} %", progress.evaluation.metric);
  }
  line += bits_text(progress.evaluation.bits_per_byte) + "  " +
          record::speed_text(progress.examples_per_s, progress.tokens_per_s);
  if (const std::string left = left_text(progress); !left.empty()) line += "  " + left;
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void LiveLine::tell(const std::string& line) {
  const std::lock_guard lock(mutex_);
  clear();
  if (!line.empty()) fmt::print("{}\n", system::one_line(line));
  if (!line.empty() && terminal_) draw();
  std::fflush(stdout);
}

void LiveLine::conclude(const record::Record& record, const std::string& folder) {
  ticker_.reset();
  const std::lock_guard lock(mutex_);
  clear();
  const std::string verdict(to_string(record.status));
  std::string text = system::one_line(name_ + ": " + verdict_text(record, verdict, folder));
  if (const std::size_t begin = text.find(": " + verdict); color_ && begin != text.npos) {
    text.replace(begin + 2, verdict.size(),
                 colored(verdict, record.status == record::Status::Reached ? "32" : "31"));
  }
  if (!terminal_) {
    fmt::print("{}\n", text);
    return;
  }
  for (const std::string& line : system::wrapped(text, system::terminal_size().columns - 1)) {
    fmt::print("{}\n", line);
  }
  fmt::print("{}\n", next_command(record, folder));
}

}  // namespace regatta::cli
