// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "harness/judge/finished_runs.h"
#include "harness/matrix/cell_times.h"
#include "harness/matrix/matrix_budget.h"
#include "harness/matrix/matrix_figure.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/matrix/matrix_table.h"
#include "harness/matrix/resume_command.h"
#include "harness/record/record_writer.h"
#include "harness/system/child.h"
#include "harness/system/duration.h"
#include "harness/system/folder_lock.h"
#include "harness/system/terminal.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr int kUsage = 1;
constexpr int kRunFailed = 2;
constexpr int kSignalled = 128;
constexpr std::chrono::seconds kMostDryRun{8};  // as long as people wait

std::vector<std::string> with_seed(const MatrixCell& cell, std::uint64_t seed) {
  std::vector<std::string> arguments = cell.arguments;
  arguments.insert(arguments.end(), {"--seed", std::to_string(seed)});
  return arguments;
}

struct PlannedRun {
  std::size_t cell = 0;
  std::uint64_t seed = 0;
};

class Matrix {
 public:
  explicit Matrix(const MatrixRequest& request);
  int dry_run();
  int run(const FolderLock& lock);

 private:
  using Clock = std::chrono::steady_clock;

  std::size_t planned() const { return plan_.cells.size() * plan_.seeds.size(); }
  std::size_t there() const {
    return std::accumulate(runs_of_cell_.begin(), runs_of_cell_.end(), std::size_t{0});
  }
  double seconds_gone() const {
    return std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  /// For runs: the last drawing has its own.
  double seconds_left() const {
    return within_s_ - seconds_gone() - (figure_ ? figure_->cost() : 0);
  }
  const FinishedRun* record_of(const PlannedRun& run) const;
  const FinishedRun* done(const PlannedRun& run) const;
  void add(std::size_t cell, const FinishedRun& run);
  std::vector<MissingRun> missing_by_time() const;
  /// Of each missing run.
  std::vector<std::size_t> missing_cells() const;
  void describe();
  std::string left_text() const { return times_.text(missing_cells()); }
  std::string what_fits() const;
  void run_one(const PlannedRun& planned);
  void require_folder() const;
  [[noreturn]] void stop_for(const std::string& reason) const;
  [[noreturn]] void stop_without_the_folder();
  void draw();
  int interrupted(int signal) const;
  void say_what_was_left_out() const;

  const Clock::time_point begin_ = Clock::now();
  Interrupts interrupts_;
  MatrixRequest request_;
  double within_s_;  ///< infinity: no budget
  MatrixPlan plan_;
  std::vector<RejectedCell> rejected_;
  MatrixTable table_;
  std::optional<GrowingFigure> figure_;
  std::string figure_failure_;
  CellTimes times_;
  std::vector<PlannedRun> missing_;        ///< seeds outermost
  std::vector<std::size_t> runs_of_cell_;  ///< that are there
  std::set<std::size_t> begun_;            ///< cells that were tried at least
  std::size_t tried_ = 0;                  ///< runs of this matrix
  bool has_lost_machines_ = false;
  int failed_ = 0;
};

Matrix::Matrix(const MatrixRequest& request)
    : request_(request),
      within_s_(request.within ? parse_duration("--within", *request.within)
                               : std::numeric_limits<double>::infinity()),
      plan_(plan_of(request)),
      rejected_(reject_invalid(plan_)),
      table_(plan_),
      times_(plan_, finished_runs(request.out).runs),
      runs_of_cell_(plan_.cells.size()) {
  if (request.figure == MatrixRequest::Figure::Growing) figure_.emplace(request.out);
  for (std::uint64_t seed : plan_.seeds) {
    for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
      if (const FinishedRun* run = done({.cell = cell, .seed = seed})) {
        add(cell, *run);
      } else {
        missing_.push_back({.cell = cell, .seed = seed});
      }
    }
  }
}

const FinishedRun* Matrix::record_of(const PlannedRun& run) const {
  const std::vector<std::string> arguments = with_seed(plan_.cells[run.cell], run.seed);
  const auto found =
      std::find_if(times_.here().begin(), times_.here().end(), [&](const FinishedRun& each) {
        return each.arguments == arguments && each.recipe == times_.length(run.cell).recipe;
      });
  return found == times_.here().end() ? nullptr : &*found;
}

/// A run that lost its machines is to be run again.
const FinishedRun* Matrix::done(const PlannedRun& run) const {
  const FinishedRun* found = record_of(run);
  return found == nullptr || found->is_cancelled ? nullptr : found;
}

void Matrix::add(std::size_t cell, const FinishedRun& run) {
  table_.add(cell, run);
  ++runs_of_cell_[cell];
  begun_.insert(cell);
  if (run.status == Status::Failed) ++failed_;
}

std::vector<MissingRun> Matrix::missing_by_time() const {
  std::vector<MissingRun> runs;
  for (const PlannedRun& run : missing_) {
    runs.push_back({.cell = run.cell});
    if (const auto time = times_.expected(run.cell)) runs.back().seconds = time->seconds;
  }
  return runs;
}

std::vector<std::size_t> Matrix::missing_cells() const {
  std::vector<std::size_t> cells;
  for (const PlannedRun& run : missing_) cells.push_back(run.cell);
  return cells;
}

void Matrix::describe() {
  fmt::print("{} cells x {} seeds = {} runs, into {}\n", plan_.cells.size(), plan_.seeds.size(),
             planned(), request_.out);
  for (const MatrixCell& cell : plan_.cells) fmt::print("  {}\n", one_line(cell.name));
  if (!rejected_.empty()) fmt::print("cannot run, and why:\n");
  for (const RejectedCell& each : rejected_) {
    fmt::print("  {}\n", one_line(each.cell.name + ": " + each.reason));
  }
  if (missing_.size() < planned()) {
    fmt::print("{} runs are there already\n", planned() - missing_.size());
  }
  const bool is_dry = request_.mode == MatrixRequest::Mode::DryRun;
  times_.time_unknown(missing_cells(), is_dry ? begin_ + kMostDryRun : kNever,
                      [this] { return interrupts_.received() != 0; });
  fmt::print("{}\n", left_text());
  if (request_.within) fmt::print("{}", what_fits());
  std::fflush(stdout);
}

/// Lines of what --within will do.
std::string Matrix::what_fits() const {
  const std::vector<MissingRun> missing = missing_by_time();
  const auto unknown = std::count_if(missing.begin(), missing.end(),
                                     [](const MissingRun& run) { return !run.seconds; });
  if (unknown > 0) {
    return fmt::format("within {}: the time of {} runs is not known yet\n", *request_.within,
                       unknown);
  }
  const Forecast ahead = forecast(missing, runs_of_cell_, seconds_left());
  const std::size_t runs = ahead.runs() - there();
  if (runs == missing.size() && ahead.seconds <= seconds_left()) {
    return fmt::format("within {}: all of them\n", *request_.within);
  }
  std::string text = fmt::format("within {}: about {} of them, then there are {}\n",
                                 *request_.within, runs, seeds_text(ahead.runs_of_cell));
  if (ahead.seconds > seconds_left()) {
    text += fmt::format(
        "  the last one ends after about {}: a cell's first run is begun as long "
        "as there is time\n",
        rough_duration(seconds_gone() + ahead.seconds));
  }
  if (ahead.empty_cells().empty()) return text;
  std::vector<std::string> names;
  for (const std::size_t cell : ahead.empty_cells()) names.push_back(plan_.cells[cell].name);
  return text + fmt::format("  one run of each cell takes about {}; there is no time for {}\n",
                            rough_duration(seconds_of_first_runs(missing, begun_)),
                            fmt::join(names, ", "));
}

int Matrix::dry_run() {
  describe();
  const int signal = interrupts_.received();  // while a short run was timed
  return signal == 0 ? 0 : kSignalled + signal;
}

int Matrix::run(const FolderLock& lock) {
  if (request_.mode == MatrixRequest::Mode::Run && missing_.size() < planned()) {
    throw RunError(
        ErrorKind::Usage,
        fmt::format("{} holds {} of the {} runs already; fix: --resume runs what is missing, "
                    "another --out begins anew",
                    request_.out, planned() - missing_.size(), planned()));
  }
  std::vector<MatrixCell> cells;
  for (const PlannedRun& run : missing_) cells.push_back(plan_.cells[run.cell]);
  require_data(cells, request_.data_dir);
  describe();
  if (figure_) fmt::print("{} is drawn again and again between the runs\n", figure_->file());
  table_.show("");
  while (const auto next = next_run(missing_by_time(), begun_, seconds_left())) {
    if (interrupts_.received() == 0) run_one(missing_[*next]);
    if (!lock.is_in_place()) stop_without_the_folder();
    if (const int signal = interrupts_.received()) return interrupted(signal);
    if (has_lost_machines_) return interrupted(SIGTERM);  // which reached the run alone
    missing_.erase(missing_.begin() + static_cast<std::ptrdiff_t>(*next));
    if (figure_ && figure_->is_due() && seconds_left() > 0) draw();
  }
  if (figure_) draw();
  if (!missing_.empty()) say_what_was_left_out();
  if (!figure_failure_.empty())
    fmt::print("{} was not drawn: {}\n", figure_->file(), figure_failure_);
  fmt::print("to see who came first, and why: regatta report {}\n", request_.out);
  if (failed_ == 0) return 0;
  fmt::print(
      "{} runs failed; their records say why, and those that left none run again with "
      "--resume\n",
      failed_);
  return kRunFailed;
}

void Matrix::run_one(const PlannedRun& planned) {
  const MatrixCell& cell = plan_.cells[planned.cell];
  const std::size_t number = this->planned() - missing_.size() + 1;
  table_.begin(planned.cell, planned.seed);
  begun_.insert(planned.cell);
  ++tried_;
  require_folder();
  std::vector<std::string> arguments = {"run"};
  for (const std::string& each : with_seed(cell, planned.seed)) arguments.push_back(each);
  arguments.insert(arguments.end(), {"--data-dir", request_.data_dir, "--out", request_.out});
  const std::string left = left_text();
  std::string said;
  const ChildEnd end = run_child(arguments, [&](const std::string& line) {
    said = line;
    table_.progress(line, request_.within
                              ? fmt::format("{:.0f} s of {} left", std::max(0.0, seconds_left()),
                                            *request_.within)
                              : left);
  });
  times_.set_here(finished_runs(request_.out).runs);
  if (const FinishedRun* run = done(planned)) {
    add(planned.cell, *run);
    table_.show(fmt::format("[{}/{}] {}", number, this->planned(), said));
  } else if (record_of(planned) != nullptr) {
    has_lost_machines_ = true;
    table_.show(fmt::format("[{}/{}] {}", number, this->planned(), said));
  } else if (interrupts_.received() == 0) {
    if (end.exit_code == kNotKept) stop_for(end.last_error);
    ++failed_;
    table_.add_crash(planned.cell);
    const std::string how = end.signal != 0 ? std::string(strsignal(end.signal))
                                            : fmt::format("exit code {}", end.exit_code);
    table_.show(fmt::format("{}, seed {} left no record ({}): {}", cell.name, planned.seed, how,
                            end.last_error));
    if (end.exit_code == kUsage && tried_ == 1) throw RunError(ErrorKind::Usage, end.last_error);
  }
}

void Matrix::require_folder() const {
  try {
    require_writable(request_.out);
  } catch (const RunError& error) {
    stop_for(error.what());
  }
}

/// Nothing that follows could be kept.
void Matrix::stop_for(const std::string& reason) const {
  throw NotKept(fmt::format("{}; {} of {} runs are kept. To go on: {}", reason, there(), planned(),
                            resume_command(request_, request_.within)));
}

void Matrix::stop_without_the_folder() {
  times_.set_here(finished_runs(request_.out).runs);  // a run may have made the folder again
  for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
    runs_of_cell_[cell] = static_cast<std::size_t>(std::count_if(
        plan_.seeds.begin(), plan_.seeds.end(),
        [&](std::uint64_t seed) { return done({.cell = cell, .seed = seed}) != nullptr; }));
  }
  stop_for(request_.out + " was removed or replaced, with the records in it");
}

void Matrix::draw() {
  table_.progress("drawing " + figure_->file(), "");
  if (const std::string failure = figure_->draw(); !failure.empty()) figure_failure_ = failure;
}

int Matrix::interrupted(int signal) const {
  fmt::print("interrupted; {} of {} runs are kept. To go on: {}\n", there(), planned(),
             resume_command(request_, request_.within));
  return kSignalled + signal;
}

void Matrix::say_what_was_left_out() const {
  fmt::print(
      "stopped after {:.0f} s, as --within {} asks: {} of {} runs are there. Fewer seeds "
      "than asked for:\n",
      seconds_gone(), *request_.within, there(), planned());
  for (const std::string& line : lines_of_fewer(plan_, runs_of_cell_, plan_.seeds.size())) {
    fmt::print("{}\n", line);
  }
  fmt::print("{}. To go on: {}\n", left_text(), resume_command(request_, std::nullopt));
}

}  // namespace

int run_matrix(const MatrixRequest& request) {
  if (request.mode == MatrixRequest::Mode::DryRun) {
    return Matrix(request).dry_run();
  }
  require_writable(request.out);
  const FolderLock lock(request.out);
  return Matrix(request).run(lock);
}

}  // namespace regatta
