// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/contend.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/contender/dump.h"
#include "harness/contender/events.h"
#include "harness/contender/program.h"
#include "harness/contender/proof.h"
#include "harness/contender/timeline.h"
#include "harness/plan/program_task.h"
#include "harness/ranks/control_protocol.h"
#include "harness/system/command_text.h"
#include "harness/system/input_file.h"
#include "harness/system/machine.h"
#include "harness/system/process.h"
#include "harness/system/run_id.h"
#include "harness/system/slurm_end.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"
#include "kernels/runtime/measure/clock.h"
#include "strategies/strategy.h"

namespace regatta::contender {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kTick{500};  // between two reports of progress
constexpr int kDrains = 1 << 14;                 // most reads of 4 KiB of an ended program's pipes

/// Refuses a dump (--work) of another run than the claimed one.
void require_dump_of(const plan::ProgramTask& task, const fs::path& folder) {
  constexpr std::uintmax_t kMostManifest = 1 << 24;  // bytes
  const record::Cell& cell = task.cell;
  const auto manifest = nlohmann::ordered_json::parse(
      system::text_of(folder / "manifest.json", kMostManifest), nullptr, false);
  const nlohmann::ordered_json run = {{"workload", cell.workload},
                                      {"dataset", cell.dataset},
                                      {"seed", cell.seed},
                                      {"dtype", cell.dtype},
                                      {"global_batch", cell.global_batch},
                                      {"steps", task.total_examples / cell.global_batch}};
  for (const auto& [name, value] : run.items()) {
    const bool is_there = manifest.is_object() && manifest.contains(name);
    if (is_there && manifest[name] == value) continue;
    throw RunError(ErrorKind::Usage,
                   fmt::format("--work {} is of another run: its {} is {}, not {}; fix: regatta "
                               "dump with this run's flags, or leave --work out",
                               folder.string(), name, is_there ? manifest[name].dump() : "unknown",
                               value.dump()));
  }
}

/// Whether a program's strategy must compute the same as `single`. True also without a name, or for
/// one that Regatta does not have.
bool is_synchronous(const std::optional<std::string>& strategy) {
  using strategies::Exchange;
  try {
    return !strategy ||
           strategies::exchange_of(strategies::find_strategies(*strategy)) == Exchange::Synchronous;
  } catch (const RunError&) {
    return true;
  }
}

/// The last lines of a program's output, which a file has whole.
class Output {
 public:
  explicit Output(fs::path file) : path_(std::move(file)) {}

  void take(const std::string& line) {
    if (line.find_first_not_of(" \t\r") != line.npos) {
      last_.push_back(system::one_line(line.substr(0, kMostOfLine)));
      if (last_.size() > kLines) last_.pop_front();
    }
    if (bytes_ > kMostBytes) return;
    bytes_ += line.size() + 1;
    if (!file_.is_open()) file_.open(path_);
    file_ << line << '\n';
  }

  std::string last_lines() const {
    if (last_.empty()) return "; it printed nothing";
    return fmt::format("; its last lines: {}", fmt::join(last_, " | "));
  }

 private:
  static constexpr std::size_t kLines = 8, kMostOfLine = 240, kMostBytes = 16 << 20;
  fs::path path_;
  std::ofstream file_;
  std::size_t bytes_ = 0;
  std::deque<std::string> last_;
};

class Contention {
 public:
  Contention(const plan::RaceRequest& request, const race::RaceHooks& hooks)
      : request_(request), hooks_(hooks) {}

  record::Record run() {
    describe();
    keeper_.emplace(mark());
    for (const std::string& folder : folders_.folders()) keeper_->remove(folder);
    prepare_work();
    fs::create_directories(files());
    Output output(files() / "output.log");
    const std::int64_t begin_ns = now_ns();
    Timeline timeline({.train_examples = task_.train_examples,
                       .total_examples = task_.total_examples,
                       .prove = prover()},
                      record_);
    try {
      Program program(
          {.command = command(), .environment = environment(), .cores = cores_, .mark = mark()},
          *keeper_);
      follow(program, timeline, output);
      record_.status =
          record_.examples_to_target ? record::Status::Reached : record::Status::Missed;
    } catch (...) {
      fail(system::current_run_error(), output);
    }
    finish(timeline, begin_ns);
    return std::move(record_);
  }

 private:
  std::string mark() const { return std::string(ranks::kRunIdVariable) + '=' + record_.run_id; }
  fs::path files() const { return fs::absolute(request_.program.files) / record_.run_id; }
  bool claims() const { return request_.program.workload_name.empty(); }

  void describe() {
    cores_ = system::available_cores(request_.cores);
    task_ = plan::program_task(request_, static_cast<int>(cores_.size()));
    record_.run_id = system::random_hexadecimal(system::kRunIdBytes);
    record_.timestamp = system::utc_timestamp();
    record_.command = request_.command;
    record_.cell = task_.cell;
    record_.round = request_.round;
    record_.target = task_.target;
    if (const auto load = system::load_of_others()) record_.load = {.before = *load};
  }

  void prepare_work() {
    if (folders_.folders().empty())
      throw RunError(ErrorKind::Io, "no temporary folder can be made; fix: set TMPDIR to one");
    if (!claims()) return;
    if (request_.program.work.empty()) {
      work_ = folders_.folders().front() + "/work";
      dump(plan::reference_of(request_), work_, hooks_.tell);
    } else {
      work_ = fs::absolute(request_.program.work).string();
      require_dump_of(task_, work_);
    }
    reference_ = read_reference(work_);
  }

  /// The check of a claim; empty without one.
  std::function<void(const std::string&)> prover() {
    if (!reference_) return {};
    return [this](const std::string& json) {
      const Proof proof = parse_proof(json);
      const ProofResult result = compare(*reference_, proof);
      record_.proof = {.gradient_difference = result.gradient_difference};
      if (!proof.losses.empty()) {
        record_.proof->loss_difference = result.loss_difference;
        record_.proof->parameter_difference = result.parameter_difference;
      } else if (is_synchronous(request_.program.strategy)) {
        throw RunError(ErrorKind::Program,
                       "its proof has no losses; fix: send them, and parameter_norm. Only a "
                       "--strategy that is not synchronous may leave them out");
      }
      if (result.failure.empty()) return;
      throw RunError(ErrorKind::Program, "computed something else: " + result.failure);
    };
  }

  /// The values substituted in the command and set in its environment.
  std::map<std::string, std::string> values() const {
    return {{"seed", std::to_string(request_.seed)},
            {"workers", std::to_string(request_.workers)},
            {"threads", std::to_string(record_.cell.threads_per_worker)},
            {"out", files().string()},
            {"work", work_}};
  }

  std::string command() const {
    std::string command = request_.program.command;
    for (const auto& [name, value] : values()) {
      const std::string place = '{' + name + '}';
      const std::string text = system::command_text(std::vector<std::string>{value});
      for (std::size_t at = 0; (at = command.find(place, at)) != command.npos; at += text.size())
        command.replace(at, place.size(), text);
    }
    return command;
  }

  std::map<std::string, std::string> environment() const {
    std::map<std::string, std::string> variables = folders_.environment();
    variables[ranks::kRunIdVariable] = record_.run_id;
    variables["PYTHONUNBUFFERED"] = "1";  // lines must arrive when they are printed
    for (const auto& [name, value] : values()) {
      std::string variable = "REGATTA_" + name;
      for (char& letter : variable) letter = static_cast<char>(std::toupper(letter));
      if (!value.empty()) variables[variable] = value;
    }
    return variables;
  }

  /// Passes the program's lines on until it has ended. Throws: RunError if it fails.
  void follow(Program& program, Timeline& timeline, Output& output) {
    MllogReader mllog(record_.target.metric);
    bool by_pipe = false;
    std::int64_t heard_ns = now_ns(), shown_ns = heard_ns;
    const auto event = [&](const Event& each) {
      heard_ns = each.at_ns;
      if (each.kind == EventKind::Ready) sent_before_ = system::bytes_sent_by_interfaces();
      timeline.take(each);
      if (each.kind == EventKind::Evaluate) report(timeline, race::Occasion::Evaluation);
    };
    const auto line = [&](Source source, const std::string& text) {
      const std::int64_t at_ns = now_ns();
      if (source == Source::Events) {
        by_pipe = true;
        return event(parse_event(text, at_ns));
      }
      output.take(text);
      if (by_pipe) return;
      if (const auto each = mllog.take(text, at_ns)) event(*each);
    };
    const auto silence_ns = static_cast<std::int64_t>(request_.program.silence * 1e9);
    while (!program.has_ended()) {
      program.read(kTick, line);
      system::stop_at_slurm_end();
      const std::int64_t now = now_ns();
      if (now - heard_ns > silence_ns) {
        throw RunError(
            ErrorKind::Timeout,
            fmt::format("no event for {:g} s {}", request_.program.silence, timeline.moment()));
      }
      if (now - shown_ns < kTick / std::chrono::nanoseconds(1)) continue;
      shown_ns = now;
      report(timeline, race::Occasion::Tick);
    }
    for (int i = 0; i < kDrains && program.read(std::chrono::milliseconds(0), line); ++i) {
    }
    const std::string how = program.how_it_ended();
    if (!how.empty() || !timeline.is_done()) {
      throw RunError(ErrorKind::PeerLost, (how.empty() ? "ended" : how) + ' ' + timeline.moment());
    }
    if (const std::size_t left = program.left_behind(ranks::kKindness); left > 0) {
      throw RunError(ErrorKind::Program,
                     fmt::format("left {} of its processes behind; they were killed", left));
    }
  }

  void report(const Timeline& timeline, race::Occasion occasion) {
    if (!hooks_.progress || record_.evaluations.empty()) return;
    const std::int64_t batch = record_.cell.global_batch;
    const auto steps = [&](std::int64_t examples) {
      return batch > 0 ? examples / batch : timeline.steps();
    };
    const record::Evaluation& last = record_.evaluations.back();
    race::RaceProgress progress{.occasion = occasion,
                                .step = steps(timeline.examples()),
                                .steps = steps(task_.total_examples)};
    if (batch == 0) progress.steps = 0;
    if (!record_.losses.empty()) progress.training_loss = record_.losses.back().loss;
    progress.evaluation = {.step = steps(last.examples), .loss = last.loss, .metric = last.metric};
    progress.target = record_.target;
    progress.examples_per_s = timeline.examples_per_s(now_ns());
    hooks_.progress(progress);
  }

  void fail(const RunError& error, const Output& output) {
    record_.status = record::Status::Failed;
    record_.failure = record::Failure{.kind = std::string(to_string(error.kind())),
                                      .text = error.what() + output.last_lines()};
    record_.training_time_to_target_ns.reset();
    record_.full_time_to_target_ns.reset();
    record_.result_time_to_target_ns.reset();
    record_.examples_to_target.reset();
  }

  void finish(Timeline& timeline, std::int64_t begin_ns) {
    const auto sent = system::bytes_sent_by_interfaces();
    timeline.finish(now_ns());
    record_.setup_ns = timeline.ready_ns().value_or(now_ns()) - begin_ns;
    if (sent && sent_before_) record_.interface_bytes = *sent - *sent_before_;
    std::error_code ignored;  // folders that are not empty stay
    fs::remove(files(), ignored);
    fs::remove(files().parent_path(), ignored);
    record_.machine = system::machine_facts();
    record_.machine.cores_used = std::ssize(cores_);
    record_.software = system::software_facts();
    record_.environment = system::environment_facts();
    if (record_.load) record_.load->after = system::load_of_others().value_or(0);
    if (hooks_.ended) hooks_.ended(record_);
  }

  const plan::RaceRequest& request_;
  const race::RaceHooks& hooks_;
  ranks::RunFolders folders_{ranks::RunFolders::Memory::OfOpenMpi};
  std::optional<ranks::Keeper> keeper_;
  std::vector<int> cores_;
  plan::ProgramTask task_;
  std::string work_;  ///< folder of a dump; empty without a claim
  std::optional<Reference> reference_;
  record::Record record_;
  std::optional<std::int64_t> sent_before_;
};

}  // namespace

record::Record contend(const plan::RaceRequest& request, const race::RaceHooks& hooks) {
  return Contention(request, hooks).run();
}

}  // namespace regatta::contender
