// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

namespace regatta::ranks {
namespace {

namespace fs = std::filesystem;

constexpr char kVariable[] = "REGATTA_KEEPER";
constexpr char kMemory[] = "/dev/shm";  // Open MPI's folder of memory shared by ranks
constexpr char kFolderName[] = "regatta-XXXXXX";
constexpr char kInOrder = '.';
constexpr int kMpirun = 3;  ///< file descriptor
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

/// Waits for the coordinator. False: it was killed.
bool await_end_in_order() {
  char word = 0;
  ssize_t got;
  do {
    got = read(STDIN_FILENO, &word, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1 && word == kInOrder;
}

void end_run(pid_t mpirun, const std::string& mark) {
  const ProcessHandle handle = ProcessHandle::of_descriptor(kMpirun);
  if (!handle.ends_within(std::chrono::milliseconds(0))) {
    const std::vector<ProcessHandle> ranks = handles_of(children_of(mpirun));
    handle.send(SIGTERM);
    handle.send(SIGCONT);
    if (!handle.ends_within(kKindness)) handle.send(SIGKILL);
    kill_all(ranks);
  }
  kill_all(processes_with(mark));  // ranks that mpirun has left, and mpirun, if it still runs
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

Keeper::Keeper(pid_t mpirun, const std::string& mark, const std::vector<std::string>& folders) {
  std::array<int, 2> ends{-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
  pipe_ = ends[1];
  const ProcessHandle handle(mpirun);
  std::vector<std::string> words = {"regatta-keeper", std::to_string(mpirun), mark};
  words.insert(words.end(), folders.begin(), folders.end());
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
  posix_spawn_file_actions_adddup2(&actions, handle.descriptor(), kMpirun);
  posix_spawn_file_actions_addclosefrom_np(&actions, kMpirun + 1);
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
  if (pipe_ >= 0) {
    struct sigaction ignore {
    }, former{};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &former);  // the keeper may have been killed
    if (write(pipe_, &kInOrder, 1) < 0) errno = 0;
    sigaction(SIGPIPE, &former, nullptr);
    close(pipe_);
  }
  if (process_ == 0) return;
  const ProcessHandle handle(process_);
  if (!handle.ends_within(kOrderlyEnd)) handle.send(SIGKILL);  // if it is stopped
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool is_keeper() { return std::getenv(kVariable) != nullptr; }

int keep(const std::vector<std::string>& words) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::signal(signal, SIG_IGN);
  if (words.size() < 2) return 1;
  if (await_end_in_order()) return 0;
  end_run(std::atoi(words[0].c_str()), words[1]);
  remove_folders({words.begin() + 2, words.end()});
  return 0;
}

}  // namespace regatta::ranks
