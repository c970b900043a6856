// SPDX-License-Identifier: Apache-2.0
#include "harness/system/control_group.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace regatta::system {
namespace {

namespace fs = std::filesystem;

constexpr char kMounts[] = "/sys/fs/cgroup";

std::string groups_of_this_process() {
  std::ifstream file("/proc/self/cgroup");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Candidate folders of the hierarchy with these controllers; none means version 2.
std::vector<std::string> folders_of(const std::string& controllers) {
  if (controllers.empty()) return {"", "unified"};
  if (("," + controllers + ",").find(",cpu,") == controllers.npos) return {};
  return {"cpu", controllers};
}

/// Reads the first line of a control file in the controller's group and in each group above it that
/// has the file.
std::vector<std::string> lines_of(const std::string& file, const std::string& groups,
                                  const fs::path& mounts) {
  std::vector<std::string> lines;
  std::istringstream all(groups);
  for (std::string id, controllers, group; std::getline(all, id, ':') &&
                                           std::getline(all, controllers, ':') &&
                                           std::getline(all, group);) {
    for (const std::string& folder : folders_of(controllers)) {
      for (fs::path path = group;; path = path.parent_path()) {
        std::ifstream control(mounts / folder / path.relative_path() / file);
        if (std::string line; std::getline(control, line)) lines.push_back(line);
        if (!path.has_relative_path()) break;
      }
    }
  }
  return lines;
}

/// Parses "QUOTA PERIOD"; no quota is "max", and -1 in version 1. Units: cores.
std::optional<double> quota_in(const std::string& text) {
  std::istringstream words(text);
  double quota = 0;
  double period = 0;
  if (!(words >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& groups, const fs::path& mounts) {
  std::vector<std::string> texts = lines_of("cpu.max", groups, mounts);
  const std::vector<std::string> periods = lines_of("cpu.cfs_period_us", groups, mounts);
  const std::vector<std::string> quotas = lines_of("cpu.cfs_quota_us", groups, mounts);
  for (std::size_t i = 0; i < std::min(quotas.size(), periods.size()); ++i) {
    texts.push_back(quotas[i] + " " + periods[i]);
  }
  std::optional<double> least;
  for (const std::string& text : texts) {
    const std::optional<double> quota = quota_in(text);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

std::optional<double> cpu_quota() { return cpu_quota(groups_of_this_process(), kMounts); }

}  // namespace regatta::system
