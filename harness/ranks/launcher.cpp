// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>

#include "harness/ranks/control_protocol.h"
#include "harness/system/before_main.h"
#include "harness/system/child.h"
#include "harness/system/slurm_end.h"
#include "harness/system/slurm_job.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"

namespace regatta::ranks {
namespace {

constexpr std::size_t kLinesKept = 40;  // enough for a stack trace
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

constexpr char kSelf[] = "/proc/self/exe";

std::atomic<pid_t> running_mpirun{0};

/// Terminates a process, and continues it, because a stopped one (SIGSTOP) gets the signal only
/// then.
void terminate(pid_t pid) {
  kill(pid, SIGTERM);
  kill(pid, SIGCONT);
}

/// Waits for mpirun's end, because this process takes its output: without a reader mpirun would die
/// of SIGPIPE and leave its files in TMPDIR.
void await_end_of(pid_t pid) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000'000};
  for (int i = 0; i < 150; ++i) {  // 3 s
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (end.si_pid == pid) return;
    nanosleep(&kPause, nullptr);
  }
}

/// Handles a signal: mpirun ends its ranks, and this process dies of the signal as without a
/// handler.
void pass_on(int signal) {
  if (const pid_t pid = running_mpirun.load(); pid > 0) {
    terminate(pid);
    await_end_of(pid);
  }
  system::end_by(signal);
}

/// This program's file or, once it has been replaced or removed, the running image, which only this
/// host has.
std::string program_for_ranks(Reach reach) {
  constexpr std::string_view kGone = " (deleted)";
  std::string path = std::filesystem::read_symlink(kSelf).string();
  if (path.ends_with(kGone)) path.resize(path.size() - kGone.size());
  std::error_code none;
  if (reach == Reach::Hosts || std::filesystem::equivalent(path, kSelf, none)) return path;
  return "/proc/" + std::to_string(getpid()) + "/exe";
}

std::vector<std::string> command_of(const LaunchOptions& options) {
  const std::string self = program_for_ranks(options.reach);
  if (options.start == Start::RankZero) {
    std::vector<std::string> command = {self};
    command.insert(command.end(), options.arguments.begin(), options.arguments.end());
    return command;
  }
  std::vector<std::string> command = mpirun_command(options, comm::mpi_library().kind);
  command.push_back(self);
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  return command;
}

RunFolders::Memory memory_of(const LaunchOptions& options) {
  return options.reach == Reach::ThisHost ? RunFolders::Memory::OfTheRun
                                          : RunFolders::Memory::OfOpenMpi;
}

}  // namespace

class Launcher::Impl {
 public:
  explicit Impl(const LaunchOptions& options)
      : logs_(options.logs), ranks_(options.ranks), start_(options.start) {
    lines_.resize(static_cast<std::size_t>(ranks_) + 1);
    files_.resize(lines_.size());
    start(options);
  }

  ~Impl() {
    end(std::chrono::milliseconds(0));
    reader_.join();
    folders_.reset();
    keeper_.reset();
  }

  bool running() {
    if (pid_ == 0) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == 0) return true;
    running_mpirun = 0;
    pid_ = 0;
    if (WIFSIGNALED(status)) note_signal(WTERMSIG(status));
    return false;
  }

  bool has_ended() const { return pid_ == 0; }

  std::vector<Presence> presence() const {
    if (start_ == Start::All && pid_ != 0) return presence_of_ranks(pid_, ranks_);
    return std::vector<Presence>(static_cast<std::size_t>(ranks_), Presence::There);
  }

  /// Ends the ranks, and kills those that mpirun leaves: version 5 forgets a stopped one (SIGSTOP).
  void end(std::chrono::milliseconds patience) {
    std::vector<ProcessHandle> ranks;
    if (start_ == Start::All && pid_ != 0) ranks = handles_of(children_of_mpirun(pid_));
    const std::vector<Presence> who = presence();
    const bool waits_in_vain = std::find(who.begin(), who.end(), Presence::Stopped) != who.end();
    end_started(waits_in_vain ? std::chrono::milliseconds(0) : patience);
    kill_all(ranks);
    if (killed_) kill_all(processes_with(mark_));
    killed_ = false;
  }

  void end_started(std::chrono::milliseconds patience) {
    if (await_end(patience)) return;
    terminate(pid_);
    if (await_end(kKindness)) return;
    kill_all(handles_of(children_of_mpirun(pid_)));
    if (await_end(kKindness)) return;
    kill(pid_, SIGKILL);
    await_end(kKindness);
  }

  std::filesystem::path log_of(int rank) const {
    return logs_ / (rank < ranks_ ? "rank" + std::to_string(rank) + ".log" : "mpirun.log");
  }

  mutable std::mutex mutex_;                    ///< guards the members that the reader writes
  std::vector<std::deque<std::string>> lines_;  ///< by rank; mpirun's own are the last
  std::optional<RankDeath> death_;
  std::optional<std::string> death_of_mpirun_;
  std::atomic<bool> silent_{false};

 private:
  void note_signal(int signal) {
    const std::lock_guard lock(mutex_);
    const std::string words = "exited on signal " + std::to_string(signal) + " (" +
                              strsignal(signal) + ")";  // mpirun's wording for ranks
    if (start_ == Start::All) {
      killed_ = true;
      death_of_mpirun_ = words;
    } else if (!death_) {
      death_ = RankDeath{.rank = 0, .words = words};
    }
  }

  /// Makes none over hosts of a Slurm job: ranks of other hosts would make and leave the same
  /// TMPDIR.
  void make_folders(const LaunchOptions& options) {
    if (options.hosts.empty() && !system::other_host_of_slurm_job().empty()) {
      folders_.emplace();
    } else {
      folders_.emplace(memory_of(options));
    }
  }

  void start(const LaunchOptions& options) {
    if (options.start == Start::All) {
      comm::require_mpi();
      const std::string foreign = why_not_mpirun(mpirun_version(), comm::mpi_library().kind);
      if (!foreign.empty()) {
        throw RunError(ErrorKind::Unsupported, foreign + "; fix: " + comm::kPreferMpi);
      }
    }
    std::vector<std::string> command = command_of(options);
    std::map<std::string, std::string> variables = options.environment;
    if (options.start == Start::All) {
      make_folders(options);
      variables.insert(folders_->environment().begin(), folders_->environment().end());
      mark_ = std::string(kRunIdVariable) + "=" + variables[kRunIdVariable];
      keeper_ = options.keeper ? options.keeper : std::make_shared<Keeper>(mark_);
      for (const std::string& folder : folders_->folders()) keeper_->remove(folder);
    }
    std::vector<std::string> environment = system::environment_with(variables);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (options.start == Start::All) {
      posix_spawn_file_actions_adddup2(&actions, output_.writing(), 1);
      posix_spawn_file_actions_adddup2(&actions, output_.writing(), 2);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    if (options.start == Start::All) {  // Ctrl-C reaches it through pass_on()
      posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    }
    const int error =
        posix_spawnp(&pid_, command[0].c_str(), &actions, &attributes,
                     system::pointers_to(command).data(), system::pointers_to(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    output_.close_writing();
    if (error != 0) {
      pid_ = 0;
      throw RunError(ErrorKind::Unsupported, std::string("cannot start mpirun: ") +
                                                 std::strerror(error) + "; fix: " + comm::kGetMpi);
    }
    if (keeper_) keeper_->end(pid_);
    running_mpirun = pid_;
    for (int signal : kEndingSignals) {
      if (signal == SIGTERM && system::SlurmEndNotice::is_there()) continue;
      if (::signal(signal, pass_on) == SIG_IGN) ::signal(signal, SIG_IGN);  // by nohup
    }
    reader_ = std::thread([this] { read_output(); });
  }

  bool await_end(std::chrono::milliseconds patience) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (running()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(kLook);
    }
    return true;
  }

  void read_output() {
    while (output_.read_more([this](const std::string& line) { take(line); })) {
    }
    silent_ = true;
  }

  void take(std::string line) {
    const int tagged = untag(line);
    const int rank = tagged < 0 || tagged >= ranks_ ? ranks_ : tagged;
    const std::lock_guard lock(mutex_);
    const auto index = static_cast<std::size_t>(rank);
    line = system::one_line(line);  // safe to show in a terminal
    write(rank, line);
    if (rank == ranks_) {
      const std::optional<RankDeath> death = notice_.take(line);
      if (!death_) death_ = death;
    }
    lines_[index].push_back(std::move(line));
    if (lines_[index].size() > kLinesKept) lines_[index].pop_front();
  }

  void write(int rank, const std::string& line) {
    std::ofstream& file = files_[static_cast<std::size_t>(rank)];
    if (!file.is_open()) {
      std::error_code ignored;  // a log that cannot be written ends no run
      std::filesystem::create_directories(logs_, ignored);
      file.open(log_of(rank));
    }
    file << line << '\n' << std::flush;
  }

  std::filesystem::path logs_;
  int ranks_;
  Start start_;
  pid_t pid_ = 0;
  bool killed_ = false;  ///< mpirun was killed, and may have left ranks
  std::string mark_;     ///< in the environment of mpirun and ranks
  std::optional<RunFolders> folders_;
  std::shared_ptr<Keeper> keeper_;
  system::LinePipe output_;
  std::vector<std::ofstream> files_;
  DeathNotice notice_;  ///< used by the reader only
  std::thread reader_;
};

Launcher::Launcher(const LaunchOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Launcher::~Launcher() = default;
bool Launcher::running() { return impl_->running(); }
bool Launcher::is_silent() const { return impl_->silent_; }
std::vector<Presence> Launcher::presence() const { return impl_->presence(); }
void Launcher::end(std::chrono::milliseconds patience) { impl_->end(patience); }
std::filesystem::path Launcher::log_of(int rank) const { return impl_->log_of(rank); }

std::optional<RankDeath> Launcher::first_death() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->death_;
}

std::optional<std::string> Launcher::death_of_mpirun() const {
  const std::lock_guard lock(impl_->mutex_);
  return impl_->death_of_mpirun_;
}

bool Launcher::ended_without_a_word() const {
  return impl_->has_ended() && impl_->silent_ && !first_death() && !death_of_mpirun() &&
         last_words().empty();
}

std::string Launcher::last_words() const {
  const std::lock_guard lock(impl_->mutex_);
  std::string text;
  for (const std::string& line : impl_->lines_.back()) {
    if (!line.empty() && line.find_first_not_of('-') != line.npos) text += line + ' ';
  }
  return text;
}

std::vector<std::string> Launcher::last_lines(int rank) const {
  const std::lock_guard lock(impl_->mutex_);
  const auto& lines = impl_->lines_.at(static_cast<std::size_t>(rank));
  return {lines.begin(), lines.end()};
}

}  // namespace regatta::ranks
