// SPDX-License-Identifier: Apache-2.0
#include "harness/system/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

#include "kernels/base/error.h"

namespace regatta::system {
namespace {

volatile std::sig_atomic_t signal_received = 0;
volatile pid_t running_child = 0;

void forward(int signal) {
  signal_received = signal;
  if (running_child > 0) kill(running_child, signal);
}

/// Starts the program in the child. Calls only functions that are allowed between fork() and
/// exec().
[[noreturn]] void become(const char* path, char* const* arguments, const LinePipe& output,
                         const LinePipe& errors, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);  // the parent passes Ctrl-C on, once
  dup2(output.writing(), STDOUT_FILENO);
  dup2(errors.writing(), STDERR_FILENO);
  execvp(path, arguments);
  _exit(kNoProgram);
}

/// The timeout for poll(), which takes only an int; -1: none.
int milliseconds_until(Deadline deadline) {
  using std::chrono::milliseconds, std::chrono::ceil;
  constexpr milliseconds kNone{0}, kDay = std::chrono::hours(24);
  if (deadline == kNever) return -1;
  const auto left = ceil<milliseconds>(deadline - Deadline::clock::now());
  return static_cast<int>(std::clamp(left, kNone, kDay).count());
}

/// Reads until both ends are closed or until the deadline.
void read_all(LinePipe& output, LinePipe& errors, const ForLine& line, const ForLine& error,
              Deadline deadline) {
  std::array<pollfd, 2> open = {pollfd{.fd = output.reading(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = errors.reading(), .events = POLLIN, .revents = 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    const int ready = poll(open.data(), open.size(), milliseconds_until(deadline));
    if (ready < 0) continue;  // a signal, already forwarded
    if (ready == 0 && Deadline::clock::now() >= deadline) return;
    if (open[0].revents != 0 && !output.read_more(line)) open[0].fd = -1;
    if (open[1].revents != 0 && !errors.read_more(error)) open[1].fd = -1;
  }
}

}  // namespace

LinePipe::LinePipe(std::size_t longest) : longest_(longest) {
  if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
    throw RunError(ErrorKind::Io, std::string("cannot make a pipe: ") + std::strerror(errno));
  }
}

LinePipe::~LinePipe() {
  close(ends_[0]);
  close_writing();
}

void LinePipe::close_writing() {
  if (ends_[1] >= 0) close(ends_[1]);
  ends_[1] = -1;
}

bool LinePipe::read_more(const ForLine& line) {
  std::array<char, 4096> block;
  const ssize_t bytes = read(ends_[0], block.data(), block.size());
  if (bytes < 0) return errno == EINTR;
  if (bytes == 0 && !partial_.empty()) line(partial_);
  if (bytes == 0) return false;
  partial_.append(block.data(), static_cast<std::size_t>(bytes));
  std::size_t begin = 0;
  for (std::size_t end; (end = partial_.find('\n', begin)) != partial_.npos; begin = end + 1) {
    line(partial_.substr(begin, end - begin));
  }
  partial_.erase(0, begin);
  if (partial_.size() > longest_) line(std::exchange(partial_, {}));
  return true;
}

Interrupts::Interrupts() {
  signal_received = 0;
  struct sigaction action {};
  action.sa_handler = forward;
  sigaction(SIGINT, &action, &former_[0]);
  sigaction(SIGTERM, &action, &former_[1]);
}

Interrupts::~Interrupts() {
  sigaction(SIGINT, &former_[0], nullptr);
  sigaction(SIGTERM, &former_[1], nullptr);
}

int Interrupts::received() const { return signal_received; }

std::string first_line_of(const std::vector<std::string>& words, Deadline deadline) {
  std::string first;
  const auto keep_first = [&first](const std::string& line) {
    if (first.empty()) first = line;
  };
  run_program(words[0], words, keep_first, {}, deadline);
  return first;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& others) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!others.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [name, value] : others) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::string python() {
  const char* of_wheel = std::getenv("REGATTA_PYTHON");
  return of_wheel == nullptr ? "/usr/bin/python3" : of_wheel;
}

std::string isolated() { return std::getenv("REGATTA_PYTHON") == nullptr ? "-Es" : "-E"; }

bool is_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

ChildEnd run_child(const std::vector<std::string>& arguments, const ForLine& line) {
  std::vector<std::string> words = {"regatta"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_program("/proc/self/exe", std::move(words), line);
}

ChildEnd run_program(const std::string& path, std::vector<std::string> words, const ForLine& line,
                     const ForLine& error, Deadline deadline) {
  std::vector<char*> pointers = pointers_to(words);
  LinePipe output;
  LinePipe errors;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw RunError(ErrorKind::Io, "cannot start " + path + ": " + std::strerror(errno));
  }
  if (child == 0) become(path.c_str(), pointers.data(), output, errors, parent);
  running_child = child;
  if (signal_received != 0) kill(child, signal_received);  // it came before the child was there
  output.close_writing();
  errors.close_writing();
  ChildEnd end;
  const auto note_error = [&](const std::string& text) {
    if (error) error(text);
    if (!text.empty() && !text.starts_with(kWarning)) end.last_error = text;
  };
  read_all(output, errors, line, note_error, deadline);
  if (Deadline::clock::now() >= deadline) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  running_child = 0;
  return end;
}

}  // namespace regatta::system
