// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

namespace regatta::ranks {
namespace {

namespace fs = std::filesystem;

constexpr char kVariable[] = "REGATTA_KEEPER";
constexpr char kMemory[] = "/dev/shm";  // Open MPI's folder of memory shared by ranks
constexpr char kFolderName[] = "regatta-XXXXXX";
constexpr char kInOrder[] = ".";  ///< the last line that a keeper reads
constexpr std::chrono::seconds kOrderlyEnd{1};
constexpr int kTries = 50;  // an ending process may still create a file
constexpr std::chrono::milliseconds kBetweenTries{20};

std::string make_folder(const fs::path& parent) {
  std::string path = (parent / kFolderName).string();
  return mkdtemp(path.data()) == nullptr ? "" : path;
}

void remove_folders(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    for (int i = 0; i < kTries; ++i) {
      std::error_code error;
      fs::remove_all(folder, error);
      if (!fs::exists(fs::symlink_status(folder, error))) break;
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
}

/// The lines of the coordinator: folders, mpirun's process id, and kInOrder.
struct Received {
  std::vector<std::string> folders;
  std::optional<ProcessHandle> mpirun;
  bool is_in_order = false;

  void take(const std::string& line) {
    if (line.starts_with('/')) {
      folders.push_back(line);
    } else if (line == kInOrder) {
      is_in_order = true;
    } else {
      mpirun_id = std::atoi(line.c_str());
      mpirun.emplace(mpirun_id);
    }
  }

  pid_t mpirun_id = 0;
};

/// Reads until the coordinator has ended.
Received receive() {
  Received received;
  std::string line;
  for (;;) {
    char letter = 0;
    const ssize_t got = read(STDIN_FILENO, &letter, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) return received;
    if (letter != '\n') {
      line += letter;
      continue;
    }
    received.take(std::exchange(line, ""));
  }
}

void end_run(const Received& received, const std::string& mark) {
  if (received.mpirun && !received.mpirun->ends_within(std::chrono::milliseconds(0))) {
    const std::vector<ProcessHandle> ranks = handles_of(children_of_mpirun(received.mpirun_id));
    received.mpirun->send(SIGTERM);
    received.mpirun->send(SIGCONT);
    if (!received.mpirun->ends_within(kKindness)) received.mpirun->send(SIGKILL);
    kill_all(ranks);
  }
  if (!mark.empty())
    kill_all(processes_with(mark));  // the ranks that mpirun has left, or mpirun itself
}

}  // namespace

RunFolders::RunFolders(Memory memory) {
  std::error_code error;
  if (const std::string folder = make_folder(fs::temp_directory_path(error)); !folder.empty()) {
    folders_.push_back(folder);
    environment_["TMPDIR"] = folder;
  }
  if (memory == Memory::OfOpenMpi) return;
  if (const std::string folder = make_folder(kMemory); !folder.empty()) {
    folders_.push_back(folder);
    environment_["OMPI_MCA_btl_vader_backing_directory"] = folder;  // Open MPI 4
    environment_["OMPI_MCA_btl_sm_backing_directory"] = folder;     // and 5
  }
}

RunFolders::~RunFolders() { remove_folders(folders_); }

Keeper::Keeper(const std::string& mark) {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
  connection_ = ends[1];
  std::vector<std::string> words = {"regatta-keeper", mark};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  std::string variable = std::string(kVariable) + "=1";
  environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // not ended by Ctrl-C
  if (posix_spawn(&process_, "/proc/self/exe", &actions, &attributes, arguments.data(),
                  environment.data()) != 0) {
    process_ = 0;
  }
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(ends[0]);
}

Keeper::~Keeper() {
  if (connection_ < 0) return;
  send_line(kInOrder);
  close(connection_);
  if (process_ == 0) return;
  const ProcessHandle handle(process_);
  if (!handle.ends_within(kOrderlyEnd)) handle.send(SIGKILL);  // if it is stopped
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Keeper::send_line(const std::string& line) {
  if (connection_ < 0) return;
  const std::string text = line + '\n';
  const ssize_t sent = send(connection_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) errno = 0;  // the keeper has been killed
}

bool is_keeper() { return std::getenv(kVariable) != nullptr; }

int keep(const std::vector<std::string>& words) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  const Received received = receive();
  if (received.is_in_order) return 0;
  end_run(received, words.empty() ? "" : words.front());
  remove_folders(received.folders);
  return 0;
}

}  // namespace regatta::ranks
