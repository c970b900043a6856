// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "kernels/base/error.h"

namespace regatta::contender {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;
constexpr int kEvents = 3;  // the descriptor in the program
constexpr std::chrono::milliseconds kLook{20};
constexpr int kSweeps = 50;  // of descendants that start others meanwhile

/// Binds this thread, and the processes that it starts, to cores until the end of the scope.
class OnCores {
 public:
  explicit OnCores(const std::vector<int>& cores) {
    sched_getaffinity(0, sizeof former_, &former_);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) CPU_SET(core, &set);
    if (!cores.empty()) sched_setaffinity(0, sizeof set, &set);
  }
  ~OnCores() { sched_setaffinity(0, sizeof former_, &former_); }
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;

 private:
  cpu_set_t former_{};
};

}  // namespace

Program::Program(ProgramStart start, ranks::Keeper& keeper)
    : mark_(start.mark), output_(kLongestLine), errors_(kLongestLine), events_(kLongestLine) {
  // The path is for children that do not inherit descriptors.
  std::vector<std::string> command = {
      "/bin/sh", "-c", "export REGATTA_PIPE_PATH=/proc/$$/fd/$REGATTA_PIPE\n" + start.command};
  start.environment["REGATTA_PIPE"] = std::to_string(kEvents);
  std::vector<std::string> environment = system::environment_with(start.environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output_.writing(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors_.writing(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, events_.writing(), kEvents);  // may be another pipe's
  posix_spawn_file_actions_addclosefrom_np(&actions, kEvents + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int error = 0;
  {
    const OnCores pinned(start.cores);
    error =
        posix_spawn(&process_, command[0].c_str(), &actions, &attributes,
                    system::pointers_to(command).data(), system::pointers_to(environment).data());
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (system::LinePipe* pipe : {&output_, &errors_, &events_}) pipe->close_writing();
  if (error != 0) {
    throw RunError(ErrorKind::Io, std::string("cannot start the program: ") + std::strerror(error));
  }
  keeper.end(process_);
  handle_.emplace(process_);
}

Program::~Program() {
  const ForLine ignored = [](Source, const std::string&) {};
  kill(-process_, SIGTERM);
  kill(-process_, SIGCONT);  // a stopped process gets the signal only then
  const auto deadline = std::chrono::steady_clock::now() + ranks::kKindness;
  while (std::chrono::steady_clock::now() < deadline) {  // the shell ends before its children
    if (ended_ && ranks::processes_with(mark_).empty()) break;
    read(kLook, ignored);
  }
  kill(-process_, SIGKILL);
  for (int i = 0; i < kSweeps; ++i) {
    const auto left = ranks::processes_with(mark_);
    if (left.empty()) break;
    ranks::kill_all(left);
  }
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool Program::read(std::chrono::milliseconds limit, const ForLine& line) {
  const auto from = [&](Source source) {
    return [&line, source](const std::string& text) { line(source, text); };
  };
  const auto watched = [](int descriptor, bool is_open) {
    return pollfd{.fd = is_open ? descriptor : -1, .events = POLLIN, .revents = 0};
  };
  std::array<pollfd, 4> all = {
      watched(events_.reading(), events_open_), watched(output_.reading(), output_open_),
      watched(errors_.reading(), errors_open_), watched(handle_->descriptor(), !ended_)};
  if (poll(all.data(), all.size(), static_cast<int>(limit.count())) <= 0) return false;
  if (all[0].revents != 0) events_open_ = events_.read_more(from(Source::Events));
  if (all[1].revents != 0) output_open_ = output_.read_more(from(Source::Output));
  if (all[2].revents != 0) errors_open_ = errors_.read_more(from(Source::Output));
  if (all[3].revents == 0) return true;
  siginfo_t end{};
  while (waitid(P_PID, static_cast<id_t>(process_), &end, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  ended_ = true;
  (end.si_code == CLD_EXITED ? exit_code_ : signal_) = end.si_status;
  return true;
}

std::string Program::how_it_ended() const {
  constexpr int kOfShell = 128;  // its exit code for a command that a signal has ended
  const int signal = signal_ == 0 && exit_code_ > kOfShell ? exit_code_ - kOfShell : signal_;
  if (signal != 0) {
    return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ')';
  }
  return exit_code_ == 0 ? "" : "ended with exit code " + std::to_string(exit_code_);
}

std::size_t Program::left_behind(std::chrono::milliseconds patience) const {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const std::size_t left = ranks::processes_with(mark_).size();
    if (left == 0 || std::chrono::steady_clock::now() >= deadline) return left;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace regatta::contender
