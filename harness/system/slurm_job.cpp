// SPDX-License-Identifier: Apache-2.0
#include "harness/system/slurm_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>

#include "harness/system/number.h"
#include "harness/system/process.h"

namespace regatta::system {
namespace {

constexpr std::int64_t kMost = 1'000'000;  // hosts or repetitions in one list

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Splits at commas outside of brackets.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') ++depth;
    if (i < list.size() && list[i] == ']') --depth;
    if (i < list.size() && (list[i] != ',' || depth > 0)) continue;
    parts.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

/// Expands `08-10` to 08, 09, 10. Empty if it is no range.
std::vector<std::string> range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = dash == text.npos ? first : text.substr(dash + 1);
  const auto from = number_in(first);
  const auto to = number_in(last);
  if (!from || !to || *to - *from >= kMost) return {};
  std::vector<std::string> names;
  for (std::int64_t i = *from; i <= *to; ++i) {
    names.push_back(fmt::format("{:0{}}", i, first.size()));
  }
  return names;
}

/// Combines the text before a part's first brackets with each name in the brackets and the rest.
std::vector<std::string> expanded(std::string_view part) {
  const std::size_t open = part.find('[');
  if (open == part.npos)
    return part.empty() ? std::vector<std::string>() : std::vector{std::string(part)};
  const std::size_t close = part.find(']', open);
  if (close == part.npos) return {};
  std::vector<std::string> ends = {""};
  if (close + 1 < part.size()) ends = expanded(part.substr(close + 1));
  std::vector<std::string> names;
  for (const std::string_view each : parts_of(part.substr(open + 1, close - open - 1))) {
    const std::vector<std::string> numbers = range(each);
    if (numbers.empty()) return {};
    for (const std::string& number : numbers) {
      for (const std::string& end : ends) {
        names.push_back(std::string(part.substr(0, open)) + number + end);
      }
    }
  }
  return names;
}

std::string name_of_this_host() {
  const std::string by_slurm = variable("SLURMD_NODENAME");
  return by_slurm.empty() ? host_name() : by_slurm;
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

}  // namespace

std::vector<std::string> hosts_in(std::string_view list) {
  std::vector<std::string> hosts;
  for (const std::string_view part : parts_of(list)) {
    const std::vector<std::string> names = expanded(part);
    if (names.empty()) return {};
    hosts.insert(hosts.end(), names.begin(), names.end());
  }
  return hosts;
}

std::vector<std::int64_t> counts_in(std::string_view list) {
  std::vector<std::int64_t> counts;
  for (const std::string_view part : parts_of(list)) {
    const std::size_t open = part.find("(x");
    const auto count = number_in(part.substr(0, open));
    std::optional<std::int64_t> times = 1;
    if (open != part.npos) {
      if (!part.ends_with(')')) return {};
      times = number_in(part.substr(open + 2, part.size() - open - 3));
    }
    if (!count || !times || *times > kMost) return {};
    counts.insert(counts.end(), static_cast<std::size_t>(*times), *count);
  }
  return counts;
}

std::optional<SlurmJob> slurm_job() {
  SlurmJob job{.id = variable("SLURM_JOB_ID"),
               .hosts = hosts_in(variable("SLURM_JOB_NODELIST")),
               .cores = counts_in(variable("SLURM_JOB_CPUS_PER_NODE"))};
  if (job.id.empty()) return std::nullopt;
  const std::vector<std::int64_t> tasks = counts_in(variable("SLURM_TASKS_PER_NODE"));
  job.tasks = std::accumulate(tasks.begin(), tasks.end(), std::int64_t{0});
  return job;
}

std::string other_host_of_slurm_job() {
  const bool is_task = std::getenv("PMIX_RANK") != nullptr &&
                       std::getenv("OMPI_COMM_WORLD_RANK") == nullptr;  // not under mpirun
  const std::string of_step = is_task ? variable("SLURM_STEP_NODELIST") : "";
  const std::vector<std::string> hosts =
      hosts_in(of_step.empty() ? variable("SLURM_JOB_NODELIST") : of_step);
  const std::string own = name_of_this_host();
  const auto other = std::find_if(hosts.begin(), hosts.end(), [&](const std::string& host) {
    return short_name(host) != short_name(own);
  });
  return other == hosts.end() ? "" : *other;
}

std::string why_no_room_in(const SlurmJob& job, const RoomWanted& wanted) {
  if (job.tasks > 0 && wanted.processes > job.tasks) {
    return fmt::format(
        "it has {} processes, but Slurm's job {} has room for {}; fix: --ntasks={} "
        "for sbatch or salloc",
        wanted.processes, job.id, job.tasks, wanted.processes);
  }
  if (job.cores.empty()) return "";
  const std::int64_t least = *std::min_element(job.cores.begin(), job.cores.end());
  if (wanted.cores <= least) return "";
  return fmt::format(
      "--cores is {}, but Slurm's job {} has {} of a host; fix: --cpus-per-task={} "
      "for sbatch or salloc",
      wanted.cores, job.id, plural(least, "core"), wanted.cores);
}

}  // namespace regatta::system
