// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
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
#include <optional>
#include <thread>

#include "harness/ranks/loopback_library.h"
#include "harness/system/child.h"
#include "kernels/graph/error.h"

namespace regatta {
namespace {

constexpr std::size_t kLinesKept = 8;
constexpr auto kKindness = std::chrono::seconds(3);  // from SIGTERM to SIGKILL
constexpr auto kLook = std::chrono::milliseconds(20);
constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

constexpr int kLibraryOfMpirun = 3;  // descriptor

std::atomic<pid_t> running_mpirun{0};

/// What is stopped (SIGSTOP) hears of it only when it continues.
void terminate(pid_t pid) {
  kill(pid, SIGTERM);
  kill(pid, SIGCONT);
}

/// While this process is there to take its output: without that it would die of SIGPIPE and leave
/// its files in TMPDIR.
void await_end_of(pid_t pid) {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000'000};
  for (int i = 0; i < 150; ++i) {  // 3 s
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (end.si_pid == pid) return;
    nanosleep(&kPause, nullptr);
  }
}

/// mpirun ends its ranks; this process dies of the signal as if it had no handler.
void pass_on(int signal) {
  if (const pid_t pid = running_mpirun.load(); pid > 0) {
    terminate(pid);
    await_end_of(pid);
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}

/// mpirun's own children: ranks that it started on this machine.
std::vector<pid_t> children_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

/// Processes held by descriptors: their ids may be another's by now.
class ProcessHandles {
 public:
  explicit ProcessHandles(const std::vector<pid_t>& processes) {
    for (const pid_t process : processes) {
      const long handle = syscall(SYS_pidfd_open, process, 0);  // glibc has it for C only
      if (handle >= 0) handles_.push_back(static_cast<int>(handle));
    }
  }
  ~ProcessHandles() {
    for (const int handle : handles_) close(handle);
  }
  ProcessHandles(const ProcessHandles&) = delete;
  ProcessHandles& operator=(const ProcessHandles&) = delete;

  void kill() const {
    for (const int handle : handles_) syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0);
  }

 private:
  std::vector<int> handles_;
};

/// A child of mpirun is this rank or may become it. What has ended has no environment any more.
bool may_be(pid_t child, int rank) {
  std::ifstream file("/proc/" + std::to_string(child) + "/environ");
  const std::string name = "OMPI_COMM_WORLD_RANK=";
  bool lives = false;
  for (std::string entry; std::getline(file, entry, '\0'); lives = true) {
    if (entry.rfind(name, 0) == 0) return std::atoi(entry.c_str() + name.size()) == rank;
  }
  return lives;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> command_of(const LaunchOptions& options) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  if (options.start == Start::RankZero) {
    std::vector<std::string> command = {self};
    command.insert(command.end(), options.arguments.begin(), options.arguments.end());
    return command;
  }
  std::vector<std::string> command = mpirun_command(options);
  command.push_back(self);
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  return command;
}

std::vector<std::string> environment_of(const LaunchOptions& options) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  for (const auto& [name, value] : options.environment) environment.push_back(name + "=" + value);
  if (loads_loopback(options)) preload_loopback(environment, kLibraryOfMpirun);
  return environment;
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

  /// Not where there are children that are no rank (yet), such as those that reach other hosts.
  bool misses(int rank) const {
    const std::vector<pid_t> children = children_of(pid_);
    return !children.empty() && std::none_of(children.begin(), children.end(),
                                             [rank](pid_t child) { return may_be(child, rank); });
  }

  /// Kills what mpirun leaves behind: version 5 forgets a rank that is stopped (SIGSTOP).
  void end(std::chrono::milliseconds patience) {
    const ProcessHandles ranks(start_ == Start::All && pid_ != 0 ? children_of(pid_)
                                                                 : std::vector<pid_t>());
    end_started(patience);
    ranks.kill();
  }

  void end_started(std::chrono::milliseconds patience) {
    if (await_end(patience)) return;
    terminate(pid_);
    if (await_end(kKindness)) return;
    for (pid_t child : children_of(pid_)) kill(child, SIGKILL);
    if (await_end(kKindness)) return;
    kill(pid_, SIGKILL);
    await_end(kKindness);
  }

  std::filesystem::path log_of(int rank) const {
    return logs_ / (rank < ranks_ ? "rank" + std::to_string(rank) + ".log" : "mpirun.log");
  }

  mutable std::mutex mutex_;                    ///< guards what the reader writes
  std::vector<std::deque<std::string>> lines_;  ///< by rank; mpirun's own are the last
  std::optional<RankDeath> death_;
  std::optional<std::string> death_of_mpirun_;
  std::atomic<bool> silent_{false};

 private:
  void note_signal(int signal) {
    const std::lock_guard lock(mutex_);
    const std::string words = "exited on signal " + std::to_string(signal) + " (" +
                              strsignal(signal) + ")";  // as mpirun says it of ranks
    if (start_ == Start::All) {
      death_of_mpirun_ = words;
    } else if (!death_) {
      death_ = RankDeath{.rank = 0, .words = words};
    }
  }

  void start(const LaunchOptions& options) {
    std::vector<std::string> command = command_of(options);
    std::vector<std::string> environment = environment_of(options);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (options.start == Start::All) {
      posix_spawn_file_actions_adddup2(&actions, output_.writing(), 1);
      posix_spawn_file_actions_adddup2(&actions, output_.writing(), 2);
    }
    std::optional<LoopbackLibrary> library;
    if (loads_loopback(options)) {
      library.emplace();
      posix_spawn_file_actions_adddup2(&actions, library->descriptor(), kLibraryOfMpirun);
    }
    posix_spawn_file_actions_addclosefrom_np(&actions, kLibraryOfMpirun + (library ? 1 : 0));
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    if (options.start == Start::All) {  // Ctrl-C comes through here
      posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    }
    const int error = posix_spawnp(&pid_, command[0].c_str(), &actions, &attributes,
                                   pointers(command).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    output_.close_writing();
    if (error != 0) {
      pid_ = 0;
      throw RunError(ErrorKind::Unsupported, std::string("cannot start mpirun: ") +
                                                 std::strerror(error) +
                                                 "; fix: apt-get install openmpi-bin");
    }
    running_mpirun = pid_;
    for (int signal : kEndingSignals) ::signal(signal, pass_on);
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
      std::error_code ignored;  // a log that cannot be written costs no run
      std::filesystem::create_directories(logs_, ignored);
      file.open(log_of(rank));
    }
    file << line << '\n' << std::flush;
  }

  std::filesystem::path logs_;
  int ranks_;
  Start start_;
  pid_t pid_ = 0;
  LinePipe output_;
  std::vector<std::ofstream> files_;
  DeathNotice notice_;  ///< only the reader asks it
  std::thread reader_;
};

Launcher::Launcher(const LaunchOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Launcher::~Launcher() = default;
bool Launcher::running() { return impl_->running(); }
bool Launcher::is_silent() const { return impl_->silent_; }
bool Launcher::misses(int rank) const { return impl_->misses(rank); }
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

}  // namespace regatta
