// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/mpirun.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "harness/ranks/launcher.h"
#include "harness/system/child.h"
#include "kernels/base/error.h"

namespace regatta::ranks {
namespace {

/// Variables by which a user chooses the links of ranks; ours would contradict them.
constexpr std::array kChoicesOfLinks = {
    "OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"};

bool user_chooses_links() {
  return std::any_of(kChoicesOfLinks.begin(), kChoicesOfLinks.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

constexpr char kRemoteShell[] = "plm_rsh_agent";

/// True if mpirun needs a stand-in for ssh: version 4 requires one even if it starts nothing
/// elsewhere.
bool needs_no_remote_shell(const LaunchOptions& options) {
  return options.reach == Reach::ThisHost && !system::is_in_path("ssh") &&
         !system::is_in_path("rsh") &&
         std::getenv((std::string("OMPI_MCA_") + kRemoteShell).c_str()) == nullptr;
}

}  // namespace

void choose_links(Reach reach, const std::string& own_address) {
  if (user_chooses_links()) return;
  if (reach == Reach::ThisHost) {
    // TCP or libfabric would listen on a port. Version 5 knows vader as another name of sm.
    setenv("OMPI_MCA_pml", "ob1", 1);
    setenv("OMPI_MCA_btl", "self,vader", 1);
  } else if (!own_address.empty()) {
    // The address that other ranks use. Version 4 matches every address to a network /32.
    setenv("OMPI_MCA_btl_tcp_if_include", (own_address + "/31").c_str(), 1);
  }
}

std::string mpirun_version() {
  constexpr std::chrono::seconds kLimit{3};  // in case it is stopped
  return system::first_line_of({"mpirun", "--version"}, system::Deadline::clock::now() + kLimit);
}

std::string why_not_mpirun(const std::string& version, comm::MpiKind library) {
  const bool is_open_mpi = version.find("Open MPI") != version.npos;
  if (version.empty() || is_open_mpi == (library == comm::MpiKind::OpenMpi)) return "";
  return "the mpirun in PATH is not " + std::string(to_string(library)) +
         "'s, which is the MPI library here: it says '" + version + "'";
}

std::optional<int> rank_in_variable(const std::string& entry) {
  for (const std::string_view name : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK="}) {
    if (entry.starts_with(name)) return std::atoi(entry.c_str() + name.size());
  }
  return std::nullopt;
}

std::vector<std::string> mpirun_command(const LaunchOptions& options, comm::MpiKind kind) {
  if (kind == comm::MpiKind::Mpich) {
    if (!options.hosts.empty() || options.on_death == OnDeath::GoOn) {
      throw RunError(ErrorKind::Unsupported,
                     "--hosts and --continue-on-loss need Open MPI, and the mpirun in PATH is "
                     "MPICH's; fix: put Open MPI's first in PATH");
    }
    return {"mpirun", "-prepend-rank", "-bind-to", "none", "-n", std::to_string(options.ranks)};
  }
  std::vector<std::string> command = {"mpirun", "--oversubscribe", "--bind-to", "none",
                                      "--tag-output"};
  if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
  if (options.on_death == OnDeath::GoOn) command.emplace_back("--enable-recovery");
  if (!options.hosts.empty()) {
    command.insert(command.end(), {"--hostfile", options.hosts});
  }
  if (needs_no_remote_shell(options)) {
    command.insert(command.end(), {"--mca", kRemoteShell, "/bin/false"});
  }
  for (const auto& [name, value] : options.environment) {
    command.insert(command.end(), {"-x", name});  // keeps the value out of the process list
  }
  command.insert(command.end(), {"-np", std::to_string(options.ranks)});
  return command;
}

int untag(std::string& text) {
  int job = 0;
  int rank = -1;
  int length = 0;
  if (std::sscanf(text.c_str(), "[%d,%d]<std%*[a-z]>:%n", &job, &rank, &length) < 2 ||
      length == 0) {
    if (std::sscanf(text.c_str(), "[%d]%n", &rank, &length) < 1 || length == 0) return -1;
  }
  text.erase(0, static_cast<std::size_t>(length));
  if (text.starts_with(' ')) text.erase(0, 1);
  return rank;
}

std::optional<RankDeath> DeathNotice::take(const std::string& line) {
  if (line.find_first_not_of('-') == line.npos) {
    said_.clear();
    return std::nullopt;
  }
  said_ += line + ' ';
  int rank = 0;
  const std::size_t who = said_.find("process rank ");
  const std::size_t words = said_.find(" exited on signal ");
  if (who == said_.npos || words == said_.npos) return std::nullopt;
  const std::size_t end = said_.find(". ", words);
  if (end == said_.npos) return std::nullopt;
  if (std::sscanf(said_.c_str() + who, "process rank %d", &rank) != 1) return std::nullopt;
  const std::string text = said_.substr(words + 1, end - words - 1);
  said_.clear();
  return RankDeath{.rank = rank, .words = text};
}

}  // namespace regatta::ranks
