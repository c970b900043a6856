// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/local_processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "harness/ranks/mpirun.h"

namespace regatta::ranks {
namespace {

constexpr std::chrono::seconds kDeathLimit{1};

std::string proc(pid_t process, const char* file) {
  return "/proc/" + std::to_string(process) + "/" + file;
}

bool has(pid_t process, const std::string& wanted) {
  std::ifstream file(proc(process, "environ"));
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry == wanted) return true;
  }
  return false;
}

struct Child {
  bool lives = false;
  std::optional<int> rank;
};

/// Reads a child's environment: it is empty once the child has ended, and mpirun's own until exec.
Child child_of_mpirun(pid_t process) {
  std::ifstream file(proc(process, "environ"));
  Child child;
  for (std::string entry; std::getline(file, entry, '\0'); child.lives = true) {
    const auto rank = rank_in_variable(entry);
    if (rank && (!child.rank || entry.starts_with("OMPI_"))) child.rank = rank;
  }
  return child;
}

}  // namespace

ProcessHandle::ProcessHandle(pid_t process)
    : descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}  // glibc: for C only

ProcessHandle::~ProcessHandle() {
  if (descriptor_ >= 0) close(descriptor_);
}

void ProcessHandle::send(int signal) const {
  if (descriptor_ >= 0) syscall(SYS_pidfd_send_signal, descriptor_, signal, nullptr, 0);
}

bool ProcessHandle::ends_within(std::chrono::milliseconds limit) const {
  pollfd end{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return descriptor_ < 0 || poll(&end, 1, static_cast<int>(limit.count())) > 0;
}

void kill_all(const std::vector<ProcessHandle>& processes) {
  for (const ProcessHandle& process : processes) process.send(SIGKILL);
  for (const ProcessHandle& process : processes) process.ends_within(kDeathLimit);
}

std::vector<pid_t> children_of(pid_t process) {
  std::ifstream file(proc(process, "task/") + std::to_string(process) + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

std::vector<pid_t> children_of_mpirun(pid_t mpirun) {
  std::vector<pid_t> children = children_of(mpirun);
  if (children.size() != 1) return children;
  std::ifstream file(proc(children[0], "comm"));
  std::string name;
  std::getline(file, name);
  return name == "hydra_pmi_proxy" ? children_of(children[0]) : children;
}

std::vector<ProcessHandle> handles_of(const std::vector<pid_t>& processes) {
  std::vector<ProcessHandle> handles;
  for (const pid_t process : processes) handles.emplace_back(process);
  return handles;
}

std::vector<ProcessHandle> processes_with(const std::string& entry) {
  std::vector<ProcessHandle> found;
  std::error_code error;  // a process that ends meanwhile is skipped
  for (std::filesystem::directory_iterator folder("/proc", error), end; folder != end && !error;
       folder.increment(error)) {
    const pid_t process = std::atoi(folder->path().filename().c_str());
    if (process <= 0) continue;
    ProcessHandle handle(process);  // opened first: the id may be reused before the check
    if (has(process, entry)) found.push_back(std::move(handle));
  }
  return found;
}

bool is_stopped(pid_t process) {
  std::ifstream file(proc(process, "stat"));
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == line.npos || name_end + 2 >= line.size()) return false;
  return line[name_end + 2] == 'T' || line[name_end + 2] == 't';
}

std::vector<Presence> presence_of_ranks(pid_t mpirun, int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  if (is_stopped(mpirun)) return std::vector<Presence>(count, Presence::Stopped);
  std::vector<Presence> presence(count, Presence::Missing);
  bool may_come = true;  // until a rank is found
  for (const pid_t process : children_of_mpirun(mpirun)) {
    const Child child = child_of_mpirun(process);
    if (child.rank && *child.rank >= 0 && *child.rank < ranks) {
      presence[static_cast<std::size_t>(*child.rank)] =
          is_stopped(process) ? Presence::Stopped : Presence::There;
    }
    may_come = child.lives && !child.rank;
    if (may_come) break;
  }
  if (may_come) std::replace(presence.begin(), presence.end(), Presence::Missing, Presence::There);
  return presence;
}

}  // namespace regatta::ranks
