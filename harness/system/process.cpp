// SPDX-License-Identifier: Apache-2.0
#include "harness/system/process.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <system_error>

#include "harness/system/control_group.h"
namespace regatta::system {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::vector<int> available_cores(std::int64_t wanted) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (wanted < 0) throw RunError(ErrorKind::Usage, "--cores is 0 or more");
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  const std::optional<double> quota = cpu_quota();
  std::string because;
  if (quota && *quota < static_cast<double>(cores.size())) {
    cores.resize(std::max<std::size_t>(1, static_cast<std::size_t>(*quota)));
    because = fmt::format(" (the CPU limit of its control group is {:g})", *quota);
  }
  if (wanted > std::ssize(cores)) {
    throw RunError(ErrorKind::Usage, fmt::format("--cores is {}; this process may use {} cores{}",
                                                 wanted, cores.size(), because));
  }
  if (wanted > 0) cores.resize(static_cast<std::size_t>(wanted));
  return cores;
}

RunError current_run_error() {
  try {
    throw;
  } catch (const RunError& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorKind::Unsupported,
            "there is not enough memory; fix: fewer steps, a smaller --global-batch or fewer "
            "--workers"};
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again) {
      return {ErrorKind::Io, error.what()};
    }
    return {ErrorKind::Unsupported,
            "the system grants no more threads; fix: raise pids.max of the control group, ulimit "
            "-u or ulimit -v, or fewer --workers"};
  }
}

std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

}  // namespace regatta::system
