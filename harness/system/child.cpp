// SPDX-License-Identifier: Apache-2.0
#include "harness/system/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "kernels/graph/error.h"

namespace regatta {
namespace {

volatile std::sig_atomic_t signal_received = 0;
volatile pid_t running_child = 0;

void forward(int signal) {
  signal_received = signal;
  if (running_child > 0) kill(running_child, signal);
}

/// The reading end of a pipe, cut into lines.
class Lines {
 public:
  Lines() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw RunError(ErrorKind::Io, std::string("cannot make a pipe: ") + std::strerror(errno));
    }
  }
  ~Lines() {
    close(ends_[0]);
    close_writing();
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  void close_writing() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  /// Reads what there is. False: the other end is closed.
  bool read_more(const std::function<void(const std::string&)>& line) {
    std::array<char, 4096> block;
    const ssize_t bytes = read(ends_[0], block.data(), block.size());
    if (bytes < 0) return errno == EINTR;
    if (bytes == 0) return false;
    partial_.append(block.data(), static_cast<std::size_t>(bytes));
    for (std::size_t end; (end = partial_.find('\n')) != std::string::npos;) {
      line(partial_.substr(0, end));
      partial_.erase(0, end + 1);
    }
    return true;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  std::string partial_;
};

/// In the child. Only what is allowed after a fork.
[[noreturn]] void become(const char* path, char* const* arguments, const Lines& output,
                         const Lines& errors, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);  // Ctrl-C comes from the parent, once
  dup2(output.writing(), STDOUT_FILENO);
  dup2(errors.writing(), STDERR_FILENO);
  execv(path, arguments);
  _exit(127);
}

void read_all(Lines& output, Lines& errors, const std::function<void(const std::string&)>& line,
              std::string& last_error) {
  std::array<pollfd, 2> open = {pollfd{.fd = output.reading(), .events = POLLIN, .revents = 0},
                                pollfd{.fd = errors.reading(), .events = POLLIN, .revents = 0}};
  const auto keep = [&](const std::string& text) {
    if (!text.empty() && !text.starts_with(kWarning)) last_error = text;
  };
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (poll(open.data(), open.size(), -1) < 0) continue;  // a signal, which has been forwarded
    if (open[0].revents != 0 && !output.read_more(line)) open[0].fd = -1;
    if (open[1].revents != 0 && !errors.read_more(keep)) open[1].fd = -1;
  }
}

}  // namespace

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

ChildEnd run_child(const std::vector<std::string>& arguments,
                   const std::function<void(const std::string&)>& line) {
  std::vector<std::string> words = {"regatta"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_program("/proc/self/exe", std::move(words), line);
}

ChildEnd run_program(const std::string& path, std::vector<std::string> words,
                     const std::function<void(const std::string&)>& line) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Lines output;
  Lines errors;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw RunError(ErrorKind::Io, std::string("cannot start a run: ") + std::strerror(errno));
  }
  if (child == 0) become(path.c_str(), pointers.data(), output, errors, parent);
  running_child = child;
  if (signal_received != 0) kill(child, signal_received);  // it came before there was a child
  output.close_writing();
  errors.close_writing();
  ChildEnd end;
  read_all(output, errors, line, end.last_error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  running_child = 0;
  return end;
}

}  // namespace regatta
