// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/host_slots.h"

#include <charconv>
#include <cstdlib>
#include <set>
#include <sstream>

#include "harness/ranks/allocation.h"
#include "harness/system/input_file.h"
#include "harness/system/number.h"
#include "harness/system/slurm_job.h"

namespace regatta {
namespace {

constexpr std::int64_t kMostSlots = 1'000'000;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Parses `slots=N` from the rest of a hostfile line; 0 if it is absent.
std::int64_t slots_in_words(std::istringstream& words) {
  constexpr std::string_view kSlots = "slots=";
  for (std::string word; words >> word;) {
    if (!word.starts_with(kSlots)) continue;
    std::int64_t slots = 0;
    const char* const end = word.data() + word.size();
    const auto [behind, error] = std::from_chars(word.data() + kSlots.size(), end, slots);
    return error == std::errc() && behind == end ? slots : 0;
  }
  return 0;
}

/// Assumes that every host of mpirun's allocation has as many processes as this one; empty if they
/// cannot have.
std::vector<std::int64_t> slots_of_mpirun(int processes) {
  const std::int64_t here = std::atoll(variable("OMPI_COMM_WORLD_LOCAL_SIZE").c_str());
  if (here <= 0 || processes % here != 0) return {};
  return std::vector<std::int64_t>(static_cast<std::size_t>(processes / here), here);
}

}  // namespace

std::vector<std::int64_t> slots_in(const std::string& hostfile) {
  std::vector<std::int64_t> slots;
  std::set<std::string> hosts;
  std::istringstream lines(hostfile);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host;
    if (!(words >> host)) continue;
    const std::int64_t own = slots_in_words(words);
    if (own < 1 || own > kMostSlots || !hosts.insert(host).second) return {};
    slots.push_back(own);
  }
  return slots;
}

std::vector<std::int64_t> slots_of_hosts(const std::string& hostfile) {
  const int allocated = allocated_processes();
  if (allocated > 0 && !is_started_by_srun()) return slots_of_mpirun(allocated);
  if (allocated == 0 && !hostfile.empty()) return slots_in(text_of(hostfile, kMostHostfile));
  if (!slurm_job()) return {};
  const std::string step = allocated > 0 ? variable("SLURM_STEP_TASKS_PER_NODE") : "";
  return counts_in(step.empty() ? variable("SLURM_TASKS_PER_NODE") : step);
}

std::vector<int> hosts_by_slots(const std::vector<std::int64_t>& slots, int processes) {
  std::vector<int> hosts;
  for (std::size_t host = 0; host < slots.size(); ++host) {
    for (std::int64_t slot = 0; slot < slots[host]; ++slot) {
      if (std::ssize(hosts) == processes) return hosts;
      hosts.push_back(static_cast<int>(host));
    }
  }
  if (std::ssize(hosts) < processes) hosts.clear();
  return hosts;
}

}  // namespace regatta
