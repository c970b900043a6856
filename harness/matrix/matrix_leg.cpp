// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix_leg.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "harness/judge/matrix_notes.h"
#include "harness/judge/statistics.h"
#include "harness/matrix/resume_command.h"
#include "harness/record/record_reader.h"
#include "harness/record/record_writer.h"
#include "harness/system/duration.h"
#include "harness/system/number.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::matrix {
namespace {

constexpr int kUsage = 1;
constexpr int kRunFailed = 2;
constexpr std::size_t kRunsToDecide = 4;  // with three, intervals are twice as wide

std::vector<std::string> with_seed(const MatrixCell& cell, std::uint64_t seed) {
  std::vector<std::string> arguments = cell.arguments;
  arguments.insert(arguments.end(), {"--seed", std::to_string(seed)});
  return arguments;
}

}  // namespace

MatrixLeg::MatrixLeg(const MatrixRequest& request, Leg leg)
    : request_(request),
      within_s_(request.within ? system::parse_duration("--within", *request.within)
                               : std::numeric_limits<double>::infinity()),
      leg_(std::move(leg)),
      table_(plan_),
      kept_(plan_, leg_.folder),
      runs_of_cell_(plan_.cells.size()),
      seconds_of_cell_(plan_.cells.size()),
      crashes_(plan_.cells.size()) {
  if (races() && request.figure == MatrixRequest::Figure::Growing) figure_.emplace(request.out);
  if (races() && leg_.planned_seeds) {
    decision_.emplace(plan_, *leg_.planned_seeds, parse_precision(request.precision),
                      record::records_in(leg_.folder).records);
  }
  for (std::uint64_t seed : plan_.seeds) {
    for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
      if (const judge::FinishedRun* run = kept_.done({.cell = cell, .seed = seed})) {
        add(cell, *run);
      } else {
        missing_.push_back({.cell = cell, .seed = seed});
      }
    }
  }
}

void MatrixLeg::add(std::size_t cell, const judge::FinishedRun& run) {
  table_.add(cell, run);
  ++runs_of_cell_[cell];
  begun_.insert(cell);
  if (run.status == record::Status::Failed) {
    ++failed_;
  } else {
    seconds_of_cell_[cell].push_back(run.seconds);
  }
}

double MatrixLeg::seconds_with(std::size_t cell) const {
  std::set<std::size_t> cells = begun_;
  cells.insert(cell);
  double seconds = 0, longest = 0;
  for (const std::size_t each : cells) {
    const double own = expected(each).value_or(0);
    if (plan_.cells[each].workload == plan_.cells[cell].workload) longest = std::max(longest, own);
    if (runs_of_cell_[each] >= kRunsToDecide || !is_needed({.cell = each})) continue;
    seconds += static_cast<double>(kRunsToDecide - runs_of_cell_[each]) * own;
  }
  return seconds + (expected(cell) ? 0 : kRunsToDecide * longest);
}

std::optional<std::size_t> MatrixLeg::next() const {
  if (seconds_left() <= 0) return std::nullopt;
  std::map<std::string, double> spent;  // seconds of each workload
  std::vector<bool> fits(plan_.cells.size());
  for (std::size_t cell = 0; cell < fits.size(); ++cell) {
    const std::vector<double>& seconds = seconds_of_cell_[cell];
    spent[plan_.cells[cell].workload] += std::accumulate(seconds.begin(), seconds.end(), 0.0);
    fits[cell] = begun_.contains(cell) ? expected(cell).value_or(0) <= seconds_left()
                                       : !decision_ || seconds_with(cell) < seconds_left();
  }
  using Rank = std::tuple<bool, double, std::ptrdiff_t, double>;
  std::optional<std::pair<Rank, std::size_t>> best;
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    const auto [cell, seed] = missing_[i];
    if (!fits[cell] || !is_needed(missing_[i])) continue;
    Rank rank = {begun_.contains(cell), 0, 0, 0};
    if (decision_) {  // cheapest cells first within a seed: they may decide the others
      const auto at = std::find(plan_.seeds.begin(), plan_.seeds.end(), seed) - plan_.seeds.begin();
      const bool is_early = at < std::ptrdiff_t{kRunsToDecide};
      rank = {begun_.contains(cell), is_early ? 0 : spent[plan_.cells[cell].workload], at,
              expected(cell).value_or(0)};
    }
    if (!best || rank < best->first) best = {rank, i};
  }
  return best ? std::optional(best->second) : std::nullopt;
}

std::optional<double> MatrixLeg::expected(std::size_t cell) const {
  const std::vector<double>& seconds = seconds_of_cell_[cell];
  if (seconds.empty()) return std::nullopt;
  return judge::median_interval(seconds).median;
}

std::string MatrixLeg::kept_text() const {
  return decision_
             ? fmt::format("{} are kept", system::plural(static_cast<std::int64_t>(there()), "run"))
             : fmt::format("{} of {} runs are kept", there(), planned());
}

std::string MatrixLeg::left_text() const {
  if (decision_) return "more rounds where they can change a place";
  double seconds = 0;
  std::size_t unknown = 0;
  for (const PlannedRun& run : missing_) {
    const std::optional<double> own = expected(run.cell);
    seconds += own.value_or(0);
    if (!own) ++unknown;
  }
  const std::string runs = fmt::format("{} runs left", missing_.size());
  if (missing_.empty()) return runs;
  if (unknown == missing_.size()) return runs + "; a cell's first run tells the time of the others";
  return fmt::format("{}, {} {}{}", runs, unknown > 0 ? "more than" : "about",
                     system::rough_duration(seconds),
                     unknown > 0 ? fmt::format(", {} of cells without a run", unknown) : "");
}

void MatrixLeg::describe() {
  if (decision_) {
    fmt::print("{} cells, up to {} seeds until it is decided who is first, into {}\n",
               plan_.cells.size(), plan_.seeds.size(), leg_.folder);
  } else {
    fmt::print("{}{} cells x {} seeds = {} runs, into {}\n",
               races() ? "" : "tuning: ", plan_.cells.size(), plan_.seeds.size(), planned(),
               leg_.folder);
  }
  for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
    const std::size_t runs = runs_of_cell_[cell];
    fmt::print("  {}{}\n", system::one_line(plan_.cells[cell].name),
               runs == 0 ? "" : fmt::format(": {} of {} seeds", runs, plan_.seeds.size()));
  }
  if (!leg_.rejected.empty()) fmt::print("cannot run, and why:\n");
  for (const RejectedCell& each : leg_.rejected) {
    fmt::print("  {}\n", system::one_line(each.cell.name + ": " + each.reason));
  }
  if (missing_.size() < planned()) {
    fmt::print("{} runs are there already\n", planned() - missing_.size());
  }
  fmt::print("{}\n", left_text());
  std::fflush(stdout);
}

int MatrixLeg::run(const system::FolderLock& lock) {
  if (request_.mode == MatrixRequest::Mode::Run && missing_.size() < planned()) {
    throw RunError(
        ErrorKind::Usage,
        fmt::format("{} holds {} of the {} runs already; fix: --resume runs what is missing, "
                    "another --out begins anew",
                    leg_.folder, planned() - missing_.size(), planned()));
  }
  std::vector<MatrixCell> cells;
  for (const PlannedRun& run : missing_) cells.push_back(plan_.cells[run.cell]);
  require_data(cells, request_.data_dir);
  describe();
  leave_notes();
  if (figure_) fmt::print("{} is drawn again and again between the runs\n", figure_->file());
  table_.show("");
  while (const auto next = this->next()) {
    if (interrupts_.received() == 0) run_one(missing_[*next]);
    if (!lock.is_in_place()) stop_without_the_folder();
    if (const int signal = interrupts_.received()) return interrupted(signal);
    if (has_lost_machines_) return interrupted(SIGTERM);  // the signal reached only the run
    missing_.erase(missing_.begin() + static_cast<std::ptrdiff_t>(*next));
    if (figure_ && figure_->is_due() && seconds_left() > 0) draw();
  }
  if (figure_) draw();
  leave_notes();
  if (decision_) {
    for (const auto& race : decision_->races()) fmt::print("{}\n", line_of(race));
  }
  if (!missing_.empty()) say_what_was_left_out();
  if (!figure_failure_.empty())
    fmt::print("{} was not drawn: {}\n", figure_->file(), figure_failure_);
  if (!races()) return 0;
  fmt::print("to see who came first, and why: regatta report {}\n", request_.out);
  if (failed_ == 0) return 0;
  fmt::print(
      "{} runs failed; their records say why, and those that took no step run again with "
      "--resume\n",
      failed_);
  return kRunFailed;
}

void MatrixLeg::run_one(const PlannedRun& planned) {
  const MatrixCell& cell = plan_.cells[planned.cell];
  const std::size_t number = this->planned() - missing_.size() + 1;
  table_.begin(planned.cell, planned.seed);
  begun_.insert(planned.cell);
  ++tried_;
  require_folder();
  std::vector<std::string> arguments = {"run"};
  if (decision_) {
    arguments.insert(arguments.end(), {"--round", decision_->round_of(planned.seed)});
  }
  for (const std::string& each : with_seed(cell, planned.seed)) arguments.push_back(each);
  if (!request_.data_dir.empty()) {
    arguments.insert(arguments.end(), {"--data-dir", request_.data_dir});
  }
  arguments.insert(arguments.end(), {"--out", leg_.folder});
  const std::string left = left_text();
  const double before = seconds_gone();
  std::string said;
  const system::ChildEnd end = system::run_child(arguments, [&](const std::string& line) {
    said = line;
    table_.progress(line, request_.within
                              ? fmt::format("{:.0f} s of {} left", std::max(0.0, seconds_left()),
                                            *request_.within)
                              : left);
  });
  std::vector<record::Record> records = kept_.read_new();
  if (decision_) decision_->add(std::move(records));
  if (const judge::FinishedRun* run = kept_.record_of(planned)) {
    has_lost_machines_ = run->is_cancelled;
    if (!run->is_cancelled) {
      judge::FinishedRun whole = *run;
      whole.seconds = seconds_gone() - before;  // including the start and end of its process
      add(planned.cell, whole);
    }
    table_.show(decision_ ? fmt::format("[{}] {}", number, said)
                          : fmt::format("[{}/{}] {}", number, this->planned(), said));
  } else if (interrupts_.received() == 0) {
    if (end.exit_code == record::kNotKept) stop_for(end.last_error);
    ++failed_;
    ++crashes_[planned.cell];
    table_.add_crash(planned.cell);
    const std::string how = end.signal != 0 ? std::string(strsignal(end.signal))
                                            : fmt::format("exit code {}", end.exit_code);
    table_.show(fmt::format("{}, seed {} left no record ({}): {}", cell.name, planned.seed, how,
                            end.last_error));
    if (end.exit_code == kUsage && tried_ == 1) throw RunError(ErrorKind::Usage, end.last_error);
  }
}

void MatrixLeg::require_folder() const {
  try {
    record::require_writable(leg_.folder);
  } catch (const RunError& error) {
    stop_for(error.what());
  }
}

/// Stops, because no later run could be kept.
void MatrixLeg::stop_for(const std::string& reason) const {
  throw record::NotKept(fmt::format("{}; {}. To go on: {}", reason, kept_text(),
                                    resume_command(request_, request_.within)));
}

void MatrixLeg::stop_without_the_folder() {
  kept_.read_again();  // a run may have recreated the folder
  for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
    runs_of_cell_[cell] = static_cast<std::size_t>(std::count_if(
        plan_.seeds.begin(), plan_.seeds.end(),
        [&](std::uint64_t seed) { return kept_.done({.cell = cell, .seed = seed}) != nullptr; }));
  }
  stop_for(request_.out + " was removed or replaced, with the records in it");
}

void MatrixLeg::draw() {
  table_.progress("drawing " + figure_->file(), "");
  if (const std::string failure = figure_->draw(); !failure.empty()) figure_failure_ = failure;
}

int MatrixLeg::interrupted(int signal) const {
  leave_notes();
  fmt::print("interrupted; {}. To go on: {}\n", kept_text(),
             resume_command(request_, request_.within));
  return kSignalled + signal;
}

void MatrixLeg::say_what_was_left_out() const {
  const bool is_open = !decision_ || std::ranges::any_of(missing_, [&](const PlannedRun& run) {
    return is_needed(run);
  });
  if (!is_open) return;
  if (request_.within) {
    fmt::print("stopped after {:.0f} s, as --within {} asks; {}\n", seconds_gone(),
               *request_.within, kept_text());
  }
  fmt::print("to go on: {}\n", resume_command(request_, std::nullopt));
}

void MatrixLeg::leave_notes() const {
  if (!races()) return;
  judge::MatrixNotes notes;
  std::set<std::string> going_on;  // workloads that --resume races on
  for (const PlannedRun& run : missing_) {
    if (is_needed(run)) going_on.insert(plan_.cells[run.cell].workload);
  }
  for (const MatrixCell& cell : plan_.cells) {
    judge::WorkloadNotes& own = notes[cell.workload];
    own.command = going_on.contains(cell.workload) ? resume_command(request_, std::nullopt)
                                                   : decide_command(request_, plan_);
    if (const auto tuned = leg_.tuned.find(cell.workload); tuned != leg_.tuned.end()) {
      own.tuned = tuned->second;
    }
  }
  for (const PlannedRun& run : missing_) {
    if (decision_ && begun_.contains(run.cell)) continue;  // it may need no more runs
    if (decision_ && run.seed != plan_.seeds.front()) continue;
    judge::WorkloadNotes& own = notes[plan_.cells[run.cell].workload];
    ++own.missing;
    own.seconds += expected(run.cell).value_or(0);
  }
  for (const PlannedRun& run : missing_) {  // no estimate without a run of each cell
    if (!decision_ && !expected(run.cell)) notes[plan_.cells[run.cell].workload].seconds = 0;
  }
  try {
    judge::write_notes(leg_.folder, notes);
  } catch (const RunError& error) {  // losing the notes must not end the matrix
    fmt::print("no notes for reports: {}\n", error.what());
  }
}

}  // namespace regatta::matrix
