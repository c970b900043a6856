// SPDX-License-Identifier: Apache-2.0
//
// For tests: measures how much of its cores' time other processes used.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace regatta::testing_support {

/// The cores that this process may use.
inline std::vector<int> available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

/// Measures, from its construction on, how much of the cores' time others use, by the kernel's
/// counters (proc(5), stat), which tick every 10 ms. Others are processes, interrupts and other
/// machines on the same cores.
class OthersWatch {
 public:
  explicit OthersWatch(const std::vector<int>& cores) {
    for (const int core : cores) lines_.insert("cpu" + std::to_string(core));
    begin_ = used();
  }

  /// Returns the others' fraction of the time of all cores, 0 to 1; 0 if it is below a tick.
  double share() const {
    const Used now = used();
    const double all = now.all_s - begin_.all_s;
    const double others = now.busy_s - begin_.busy_s - (now.own_s - begin_.own_s);
    return all <= 0 ? 0 : std::clamp(others / all, 0.0, 1.0);
  }

 private:
  struct Used {
    double all_s = 0;
    double busy_s = 0;
    double own_s = 0;
  };

  Used used() const {
    Used sum;
    const auto tick_s = 1 / static_cast<double>(sysconf(_SC_CLK_TCK));
    std::ifstream stat("/proc/stat");
    for (std::string line; std::getline(stat, line);) {
      std::istringstream words(line);
      std::string core;
      if (!(words >> core) || !lines_.contains(core)) continue;
      // user nice system idle iowait irq softirq steal
      double ticks = 0;
      for (int field = 0; field < 8 && words >> ticks; ++field) {
        sum.all_s += ticks * tick_s;
        if (field != 3 && field != 4) sum.busy_s += ticks * tick_s;
      }
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    for (const timeval& each : {usage.ru_utime, usage.ru_stime}) {
      sum.own_s += static_cast<double>(each.tv_sec) + static_cast<double>(each.tv_usec) * 1e-6;
    }
    return sum;
  }

  std::set<std::string> lines_;
  Used begin_;
};

}  // namespace regatta::testing_support
