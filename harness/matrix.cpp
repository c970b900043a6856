// SPDX-License-Identifier: Apache-2.0
#include "harness/matrix.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "harness/child.h"
#include "harness/expected_time.h"
#include "harness/finished_runs.h"
#include "harness/machine.h"
#include "harness/matrix_plan.h"
#include "harness/matrix_table.h"
#include "harness/record_writer.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr int kUsage = 1;
constexpr int kRunFailed = 2;
constexpr int kSignalled = 128;

/// Holds a folder against other matrices, also those that were started by mistake.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) {
    const std::string path = folder + "/matrix.lock";
    descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor_ < 0) {
      throw RunError(ErrorKind::Io, "cannot open " + path + ": " + std::strerror(errno));
    }
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      close(descriptor_);
      throw RunError(ErrorKind::Usage, "another matrix is at work in " + folder +
                                           "; wait for it, or choose another folder with --out");
    }
  }
  ~FolderLock() { close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

MatrixPlan named_plan(const MatrixRequest& request) {
  if (request.file.empty() == request.tier.empty()) {
    throw RunError(ErrorKind::Usage, "name either a TOML file or a --tier");
  }
  if (request.file.empty()) return tier_plan(request.tier);
  std::ifstream file(request.file);
  if (!file) {
    throw RunError(ErrorKind::Usage, "cannot read " + request.file + ": " + std::strerror(errno));
  }
  std::stringstream text;
  text << file.rdbuf();
  return parse_matrix(text.str(), request.file);
}

MatrixPlan plan_of(const MatrixRequest& request) {
  MatrixPlan plan = named_plan(request);
  if (!request.seeds) return plan;
  if (*request.seeds < 1) throw RunError(ErrorKind::Usage, "--seeds is at least 1");
  plan.seeds.resize(static_cast<std::size_t>(*request.seeds));
  std::iota(plan.seeds.begin(), plan.seeds.end(), 1U);
  return plan;
}

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
  explicit Matrix(const MatrixRequest& request)
      : request_(request),
        plan_(plan_of(request)),
        rejected_(reject_invalid(plan_)),
        table_(plan_),
        known_(finished_runs(request.out).runs),
        committed_(committed_runs(machine_facts())) {
    for (const MatrixCell& cell : plan_.cells) lengths_.push_back(run_length(cell));
    for (std::uint64_t seed : plan_.seeds) {
      for (std::size_t cell = 0; cell < plan_.cells.size(); ++cell) {
        if (const FinishedRun* run = done({.cell = cell, .seed = seed})) {
          table_.add(cell, *run);
          if (run->status == Status::Failed) ++failed_;
        } else {
          missing_.push_back({.cell = cell, .seed = seed});
        }
      }
    }
  }

  void describe();
  int dry_run();
  int run();

 private:
  std::size_t planned() const { return plan_.cells.size() * plan_.seeds.size(); }
  const FinishedRun* done(const PlannedRun& run) const {
    const std::vector<std::string> arguments = with_seed(plan_.cells[run.cell], run.seed);
    const auto found = std::find_if(known_.begin(), known_.end(), [&](const FinishedRun& each) {
      return each.arguments == arguments;
    });
    return found == known_.end() ? nullptr : &*found;
  }
  std::size_t kept() const {
    const auto still_missing = std::count_if(missing_.begin(), missing_.end(),
                                             [this](const auto& run) { return !done(run); });
    return planned() - static_cast<std::size_t>(still_missing);
  }
  std::string left_text(std::size_t from) const;
  std::optional<ExpectedTime> expected(const PlannedRun& run) const;
  void time_unknown();
  void run_one(const PlannedRun& planned, std::size_t index);
  std::string how_to_resume() const;

  Interrupts interrupts_;
  MatrixRequest request_;
  MatrixPlan plan_;
  std::vector<RejectedCell> rejected_;
  MatrixTable table_;
  std::vector<RunLength> lengths_;  ///< of the plan's cells
  std::vector<FinishedRun> known_;
  std::vector<FinishedRun> committed_;
  std::vector<FinishedRun> timed_;
  std::vector<PlannedRun> missing_;
  int failed_ = 0;
};

std::optional<ExpectedTime> Matrix::expected(const PlannedRun& run) const {
  return expected_time(lengths_[run.cell],
                       {.here = known_, .committed = committed_, .timed = timed_});
}

/// One short run of each workload of which no run is known.
void Matrix::time_unknown() {
  std::set<std::tuple<std::string, std::string, std::string>> tried;
  for (const PlannedRun& run : missing_) {
    const RunLength& length = lengths_[run.cell];
    if (expected(run) || interrupts_.received() != 0) continue;
    if (!tried.emplace(length.workload, length.dtype, length.device).second) continue;
    fmt::print("timing a few steps of {} in {}\n", length.workload, length.dtype);
    std::fflush(stdout);
    if (auto timed = short_run(length)) timed_.push_back(std::move(*timed));
  }
}

std::string Matrix::left_text(std::size_t from) const {
  double seconds = 0;
  std::map<Basis, std::size_t> by_basis;
  for (std::size_t i = from; i < missing_.size(); ++i) {
    const auto time = expected(missing_[i]);
    if (!time) continue;
    seconds += time->seconds;
    ++by_basis[time->basis];
  }
  const std::size_t runs = missing_.size() - from;
  std::vector<std::string> known;
  std::size_t unknown = runs;
  for (const auto& [basis, count] : by_basis) {
    known.push_back(fmt::format("{} by {}", count, to_string(basis)));
    unknown -= count;
  }
  if (runs == 0) return "0 runs left";
  if (known.empty()) return fmt::format("{} runs left, their time is not known yet", runs);
  if (unknown > 0) known.push_back(fmt::format("{} not known yet", unknown));
  const std::string time = seconds < 9.5    ? fmt::format("{:.1f} s", seconds)
                           : seconds < 90   ? fmt::format("{:.0f} s", seconds)
                           : seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60)
                                            : fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{} runs left, about {} ({})", runs, time, fmt::join(known, ", "));
}

void Matrix::describe() {
  fmt::print("{} cells x {} seeds = {} runs, into {}\n", plan_.cells.size(), plan_.seeds.size(),
             planned(), request_.out);
  for (const MatrixCell& cell : plan_.cells) fmt::print("  {}\n", cell.name);
  if (!rejected_.empty()) fmt::print("cannot run, and why:\n");
  for (const RejectedCell& each : rejected_) {
    fmt::print("  {}: {}\n", each.cell.name, each.reason);
  }
  if (missing_.size() < planned()) {
    fmt::print("{} runs are there already\n", planned() - missing_.size());
  }
  time_unknown();
  fmt::print("{}\n", left_text(0));
  std::fflush(stdout);
}

std::string Matrix::how_to_resume() const {
  const std::string what = request_.file.empty() ? "--tier " + request_.tier : request_.file;
  const std::string seeds = request_.seeds ? fmt::format(" --seeds {}", *request_.seeds) : "";
  const std::string data = request_.data_dir == RaceRequest().data_dir
                               ? ""
                               : fmt::format(" --data-dir {}", request_.data_dir);
  return fmt::format("regatta matrix {}{}{} --out {} --resume", what, seeds, data, request_.out);
}

int Matrix::dry_run() {
  describe();
  const int signal = interrupts_.received();  // while a short run was timed
  return signal == 0 ? 0 : kSignalled + signal;
}

int Matrix::run() {
  if (request_.mode == MatrixRequest::Mode::Run && missing_.size() < planned()) {
    throw RunError(ErrorKind::Usage,
                   fmt::format("{} holds {} of the {} runs already; --resume runs what is missing, "
                               "another --out begins anew",
                               request_.out, planned() - missing_.size(), planned()));
  }
  std::vector<MatrixCell> cells;
  for (const PlannedRun& run : missing_) cells.push_back(plan_.cells[run.cell]);
  require_data(cells, request_.data_dir);
  describe();
  table_.show("");
  for (std::size_t i = 0; i < missing_.size(); ++i) {
    if (interrupts_.received() == 0) run_one(missing_[i], i);
    if (const int signal = interrupts_.received()) {
      fmt::print("interrupted; {} of {} runs are kept. To go on: {}\n", kept(), planned(),
                 how_to_resume());
      return kSignalled + signal;
    }
  }
  fmt::print("to see who came first, and why: regatta report {}\n", request_.out);
  if (failed_ == 0) return 0;
  fmt::print(
      "{} runs failed; their records say why, and those that left none run again with "
      "--resume\n",
      failed_);
  return kRunFailed;
}

void Matrix::run_one(const PlannedRun& planned, std::size_t index) {
  const MatrixCell& cell = plan_.cells[planned.cell];
  table_.begin(planned.cell, planned.seed);
  std::vector<std::string> arguments = {"run"};
  for (const std::string& each : with_seed(cell, planned.seed)) arguments.push_back(each);
  arguments.insert(arguments.end(), {"--data-dir", request_.data_dir, "--out", request_.out});
  const std::string left = left_text(index);
  std::string said;
  const ChildEnd end = run_child(arguments, [&](const std::string& line) {
    said = line;
    table_.progress(line, left);
  });
  known_ = finished_runs(request_.out).runs;
  const FinishedRun* run = done(planned);
  if (run != nullptr) {
    table_.add(planned.cell, *run);
    if (run->status == Status::Failed) ++failed_;
    table_.show(fmt::format("[{}/{}] {}", this->planned() - missing_.size() + index + 1,
                            this->planned(), said));
  } else if (interrupts_.received() == 0) {
    ++failed_;
    table_.add_crash(planned.cell);
    const std::string how = end.signal != 0 ? std::string(strsignal(end.signal))
                                            : fmt::format("exit code {}", end.exit_code);
    table_.show(fmt::format("{} seed {} left no record ({}): {}", cell.name, planned.seed, how,
                            end.last_error));
    if (end.exit_code == kUsage && index == 0) throw RunError(ErrorKind::Usage, end.last_error);
  }
}

}  // namespace

int run_matrix(const MatrixRequest& request) {
  for (const std::string& folder : {request.out, request.data_dir}) {
    if (folder.find_first_of(" \t\n") == std::string::npos) continue;
    throw RunError(ErrorKind::Usage, "'" + folder +
                                         "': a matrix finds its records by their commands, "
                                         "so its folders have no spaces; choose another");
  }
  if (request.mode == MatrixRequest::Mode::DryRun) {
    return Matrix(request).dry_run();
  }
  require_writable(request.out);
  const FolderLock lock(request.out);
  return Matrix(request).run();
}

}  // namespace regatta
