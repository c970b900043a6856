// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "harness/judge/finished_runs.h"
#include "harness/judge/matrix_notes.h"
#include "harness/judge/statistics.h"
#include "harness/matrix/decision.h"
#include "harness/matrix/kept_runs.h"
#include "harness/matrix/matrix_budget.h"
#include "harness/matrix/matrix_figure.h"
#include "harness/matrix/matrix_plan.h"
#include "harness/matrix/matrix_table.h"
#include "harness/matrix/resume_command.h"
#include "harness/matrix/tune.h"
#include "harness/record/record_reader.h"
#include "harness/record/record_writer.h"
#include "harness/system/child.h"
#include "harness/system/duration.h"
#include "harness/system/folder_lock.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::matrix {
namespace {

constexpr int kUsage = 1;
constexpr int kRunFailed = 2;
constexpr int kSignalled = 128;
constexpr std::size_t kRunsToDecide = 3;

std::vector<std::string> with_seed(const MatrixCell& cell, std::uint64_t seed) {
  std::vector<std::string> arguments = cell.arguments;
  arguments.insert(arguments.end(), {"--seed", std::to_string(seed)});
  return arguments;
}

using Clock = std::chrono::steady_clock;

/// The runs of a request that tune, or those that race.
struct Leg {
  enum class Purpose { Tune, Race } purpose = Purpose::Race;
  std::string folder;
  MatrixPlan plan;
  std::vector<RejectedCell> rejected;
  Clock::time_point begin;                        ///< of both legs together
  std::map<std::string, std::string> tuned;       ///< by workload, for the notes
  std::optional<std::size_t> planned_seeds = {};  ///< before add_seeds(), if the race decides
};

class Matrix {
 public:
  Matrix(const MatrixRequest& request, Leg leg);
  int dry_run();
  int run(const system::FolderLock& lock);
  bool is_complete() const { return missing_.empty(); }
  const KeptRuns& kept() const { return kept_; }

 private:
  bool races() const { return leg_.purpose == Leg::Purpose::Race; }
  std::size_t planned() const { return plan_.cells.size() * plan_.seeds.size(); }
  std::size_t there() const {
    return std::accumulate(runs_of_cell_.begin(), runs_of_cell_.end(), std::size_t{0});
  }
  double seconds_gone() const {
    return std::chrono::duration<double>(Clock::now() - leg_.begin).count();
  }
  /// Time left for runs, without that of the last drawing.
  double seconds_left() const {
    return within_s_ - seconds_gone() - (figure_ ? figure_->cost() : 0);
  }
  void add(std::size_t cell, const judge::FinishedRun& run);
  /// The time that the begun cells need for the fewest runs that tell cells apart. With less time
  /// left no other cell begins: few cells that are decided say more than many that are not.
  double seconds_of_begun() const;
  /// Chooses an index in `missing_`; empty if no run is left, fits or is needed.
  std::optional<std::size_t> next() const;
  bool is_needed(const PlannedRun& run) const {
    constexpr int kCrashes = 2;  // the reason is hardly chance
    return !decision_ || (crashes_[run.cell] < kCrashes &&
                          decision_->needs_more(plan_.cells[run.cell], runs_of_cell_[run.cell]));
  }
  /// Returns the expected time of a run of the cell in seconds; empty before its first run.
  std::optional<double> expected(std::size_t cell) const;
  void describe();
  std::string kept_text() const;
  std::string left_text() const;
  void run_one(const PlannedRun& planned);
  void require_folder() const;
  [[noreturn]] void stop_for(const std::string& reason) const;
  [[noreturn]] void stop_without_the_folder();
  void draw();
  int interrupted(int signal) const;
  void say_what_was_left_out() const;
  /// Writes notes for reports about the missing runs.
  void leave_notes() const;

  system::Interrupts interrupts_;
  MatrixRequest request_;
  double within_s_;  ///< infinity: no budget
  Leg leg_;
  const MatrixPlan& plan_ = leg_.plan;
  MatrixTable table_;
  std::optional<GrowingFigure> figure_;
  std::string figure_failure_;
  KeptRuns kept_;
  std::optional<Decision> decision_;                  ///< empty: all planned runs are raced
  std::vector<PlannedRun> missing_;                   ///< seeds outermost
  std::vector<std::size_t> runs_of_cell_;             ///< finished runs
  std::vector<std::vector<double>> seconds_of_cell_;  ///< of each run that did not fail
  std::vector<int> crashes_;                          ///< of each cell, without a record
  std::set<std::size_t> begun_;                       ///< cells with at least one attempt
  std::size_t tried_ = 0;                             ///< attempted runs of this matrix
  bool has_lost_machines_ = false;
  int failed_ = 0;
};

Matrix::Matrix(const MatrixRequest& request, Leg leg)
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

void Matrix::add(std::size_t cell, const judge::FinishedRun& run) {
  table_.add(cell, run);
  ++runs_of_cell_[cell];
  begun_.insert(cell);
  if (run.status == record::Status::Failed) {
    ++failed_;
  } else {
    seconds_of_cell_[cell].push_back(run.seconds);
  }
}

double Matrix::seconds_of_begun() const {
  if (!decision_) return 0;
  double seconds = 0;
  for (const std::size_t cell : begun_) {
    const bool has_few = runs_of_cell_[cell] < kRunsToDecide;
    if (!has_few || !is_needed({.cell = cell})) continue;
    seconds +=
        static_cast<double>(kRunsToDecide - runs_of_cell_[cell]) * expected(cell).value_or(0);
  }
  return seconds;
}

std::optional<std::size_t> Matrix::next() const {
  const bool begins = seconds_left() > seconds_of_begun();
  std::vector<std::size_t> needed;
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    const bool fits = begins || begun_.contains(missing_[i].cell);
    if (fits && is_needed(missing_[i])) needed.push_back(i);
  }
  if (decision_) {  // within a seed the cheapest first: they may decide about the others
    std::ranges::stable_sort(needed, {}, [&](std::size_t i) {
      const auto at = std::find(plan_.seeds.begin(), plan_.seeds.end(), missing_[i].seed);
      return std::pair(at, expected(missing_[i].cell).value_or(0));
    });
  }
  std::vector<MissingRun> runs;
  for (const std::size_t i : needed) {
    runs.push_back({.cell = missing_[i].cell, .seconds = expected(missing_[i].cell)});
  }
  const auto chosen = next_run(runs, begun_, seconds_left());
  return chosen ? std::optional(needed[*chosen]) : std::nullopt;
}

std::optional<double> Matrix::expected(std::size_t cell) const {
  const std::vector<double>& seconds = seconds_of_cell_[cell];
  if (seconds.empty()) return std::nullopt;
  return judge::median_interval(seconds).median;
}

std::string Matrix::kept_text() const {
  return decision_
             ? fmt::format("{} are kept", system::plural(static_cast<std::int64_t>(there()), "run"))
             : fmt::format("{} of {} runs are kept", there(), planned());
}

std::string Matrix::left_text() const {
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

void Matrix::describe() {
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

int Matrix::dry_run() {
  describe();
  return 0;
}

int Matrix::run(const system::FolderLock& lock) {
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

void Matrix::run_one(const PlannedRun& planned) {
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
    if (!run->is_cancelled) add(planned.cell, *run);
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

void Matrix::require_folder() const {
  try {
    record::require_writable(leg_.folder);
  } catch (const RunError& error) {
    stop_for(error.what());
  }
}

/// Stops, because no later run could be kept.
void Matrix::stop_for(const std::string& reason) const {
  throw record::NotKept(fmt::format("{}; {}. To go on: {}", reason, kept_text(), planned(),
                                    resume_command(request_, request_.within)));
}

void Matrix::stop_without_the_folder() {
  kept_.read_again();  // a run may have made the folder again
  for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
    runs_of_cell_[cell] = static_cast<std::size_t>(std::count_if(
        plan_.seeds.begin(), plan_.seeds.end(),
        [&](std::uint64_t seed) { return kept_.done({.cell = cell, .seed = seed}) != nullptr; }));
  }
  stop_for(request_.out + " was removed or replaced, with the records in it");
}

void Matrix::draw() {
  table_.progress("drawing " + figure_->file(), "");
  if (const std::string failure = figure_->draw(); !failure.empty()) figure_failure_ = failure;
}

int Matrix::interrupted(int signal) const {
  leave_notes();
  fmt::print("interrupted; {}. To go on: {}\n", kept_text(),
             resume_command(request_, request_.within));
  return kSignalled + signal;
}

void Matrix::say_what_was_left_out() const {
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

void Matrix::leave_notes() const {
  if (!races()) return;
  judge::MatrixNotes notes;
  for (const MatrixCell& cell : plan_.cells) {
    judge::WorkloadNotes& own = notes[cell.workload];
    own.command = resume_command(request_, std::nullopt);
    if (const auto tuned = leg_.tuned.find(cell.workload); tuned != leg_.tuned.end()) {
      own.tuned = tuned->second;
    }
  }
  for (const PlannedRun& run : missing_) {
    if (decision_ && begun_.contains(run.cell)) continue;  // none is missing for certain
    if (decision_ && run.seed != plan_.seeds.front()) continue;
    judge::WorkloadNotes& own = notes[plan_.cells[run.cell].workload];
    ++own.missing;
    own.seconds += expected(run.cell).value_or(0);
  }
  for (const PlannedRun& run : missing_) {  // the sum would lack those of cells without a run
    if (!decision_ && !expected(run.cell)) notes[plan_.cells[run.cell].workload].seconds = 0;
  }
  try {
    judge::write_notes(leg_.folder, notes);
  } catch (const RunError& error) {  // records are more important
    fmt::print("no notes for reports: {}\n", error.what());
  }
}

/// Chooses the race's settings. Returns an exit code if the matrix ends before the race:
/// interrupted, or out of time. `lock`: null for a dry run.
std::optional<int> tune(const MatrixRequest& request, const system::FolderLock* lock, Leg& race) {
  const Tuning tuning(race.plan);
  Leg leg{.purpose = Leg::Purpose::Tune,
          .folder = request.out + "/tuning",
          .plan = tuning.trials(),
          .rejected = {},
          .begin = race.begin,
          .tuned = {}};
  if (leg.plan.cells.empty()) return std::nullopt;
  leg.rejected = reject_invalid(leg.plan);
  Matrix trials(request, std::move(leg));
  const int code = lock == nullptr ? trials.dry_run() : trials.run(*lock);
  if (code >= kSignalled) return code;
  if (!trials.is_complete()) {
    if (lock != nullptr) return code;
    fmt::print("then, with the settings that these choose:\n");
    return std::nullopt;
  }
  race.tuned =
      tuning.choose(race.plan, [&](const MatrixCell& cell) { return trials.kept().runs_of(cell); });
  for (const auto& [workload, text] : race.tuned) fmt::print("{}: {}\n", workload, text);
  for (MatrixCell& cell : race.plan.cells) {
    if (cell.key.empty()) identify(cell);
  }
  return std::nullopt;
}

/// Whether the race ends once it is decided. A time limit alone asks for it where there is a choice
/// of cells.
bool decides(const MatrixRequest& request, const MatrixPlan& plan) {
  parse_precision(request.precision);
  if (request.until == MatrixRequest::Until::Decided) {
    require_contests(plan);
    return true;
  }
  return request.within && plan.cells.size() > 1;
}

int race(MatrixRequest request, const system::FolderLock* lock) {
  Leg leg{.folder = request.out,
          .plan = plan_of(request),
          .rejected = {},
          .begin = Clock::now(),
          .tuned = {}};
  leg.rejected = reject_invalid(leg.plan);
  if (decides(request, leg.plan)) {
    request.until = MatrixRequest::Until::Decided;
    leg.planned_seeds = leg.plan.seeds.size();
    if (!request.seeds) add_seeds(leg.plan);
  }
  if (const auto code = tune(request, lock, leg)) return *code;
  Matrix matrix(request, std::move(leg));
  return lock == nullptr ? matrix.dry_run() : matrix.run(*lock);
}

}  // namespace

int run_matrix(const MatrixRequest& request) {
  if (request.mode == MatrixRequest::Mode::DryRun) return race(request, nullptr);
  record::require_writable(request.out);
  const system::FolderLock lock(request.out);
  return race(request, &lock);
}

}  // namespace regatta::matrix
