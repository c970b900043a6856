// SPDX-License-Identifier: Apache-2.0
//
// Measures how far apart two runs drift if one takes the sums of the same computation in another
// order, and whether loss_path.h distinguishes them from runs with a fault.
//   reorderings_bench [--orders 10] [--seeds 20] [--first-seed 1] [--only resnet9_thin/12]
// Compares `single`, for each setting and seed, with `--orders` reorderings, and with runs that
// have another weight decay or half the gradient of a worker. Prints the largest relative
// differences of losses and norms by steps taken, and the numbers of runs reported as different
// computations. Exit code 1: a reordering was reported, or a fault was not. The defaults are 200
// reorderings of each of five settings, 1,000 in all, in a quarter of an hour.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>

#include "harness/judge/reordered_run_for_test.h"

namespace regatta {
namespace {

using testing_support::path_run;
using testing_support::PathSetting;
using testing_support::PathVariant;
using testing_support::reordering;

struct Asked {
  std::uint64_t orders = 10;
  std::uint64_t seeds = 20;
  std::uint64_t first_seed = 1;
  std::string only;
};

/// The largest relative differences by steps taken.
struct Spread {
  std::array<double, kComparedLosses + 1> losses{};
  std::array<double, kComparedNorms + 1> norms{};

  void add(const FinishedRun& one, const FinishedRun& other) {
    const auto widen = [](double& largest, double a, double b) {
      largest = std::max(largest, std::abs(a - b) / std::max(std::abs(a), std::abs(b)));
    };
    for (std::size_t k = 0; k < std::min(losses.size(), one.losses.size()); ++k) {
      widen(losses[k], one.losses[k].loss, other.losses[k].loss);
    }
    for (std::size_t k = 0; k < one.evaluations.size(); ++k) {
      widen(norms[k + 1], one.evaluations[k].parameter_norm, other.evaluations[k].parameter_norm);
    }
  }
};

struct Fault {
  std::string name;
  PathVariant variant;
  int told = 0;
};

/// Keeps only the norm of the last evaluation, like the record of a real run.
FinishedRun with_last_norm(FinishedRun run) {
  run.evaluations.erase(run.evaluations.begin(), run.evaluations.end() - 1);
  return run;
}

bool departs(const FinishedRun& base, const FinishedRun& head) {
  return compare_paths(base, head).departure.has_value();
}

template <std::size_t n>
std::string line_of(const std::array<double, n>& values) {
  std::string line;
  for (const double value : values) line += fmt::format(" {:.1e}", value);
  return line;
}

/// Whether all runs were classified correctly.
bool try_setting(PathSetting setting, const Asked& asked) {
  std::vector<Fault> faults{
      {"the gradient of one of two workers halved", {.workers = 2, .divisor = 2}}};
  if (setting.workload != "parabola") {  // the parabola has no decay
    faults.push_back({"no weight decay", {.decay = 0}});
    faults.push_back({"twice the weight decay", {.decay = 2}});
  }
  Spread spread;
  std::uint64_t reorderings = 0, departed = 0;
  for (std::uint64_t s = 0; s < asked.seeds; ++s) {
    setting.seed = asked.first_seed + s;
    const FinishedRun single = path_run(setting, {});
    for (std::uint64_t order = 0; order < asked.orders; ++order) {
      const FinishedRun other = path_run(setting, reordering(setting.seed * 1000 + order));
      spread.add(single, other);
      ++reorderings;
      departed += departs(single, other) ? 1 : 0;
    }
    for (Fault& fault : faults) {
      const FinishedRun wrong = path_run(setting, fault.variant);
      fault.told += departs(with_last_norm(single), with_last_norm(wrong)) ? 1 : 0;
    }
  }
  fmt::print("{}/{}: {} of {} reorderings told to compute something else\n  losses{}\n  norms {}\n",
             setting.workload, setting.steps, departed, reorderings, line_of(spread.losses),
             line_of(spread.norms));
  bool right = departed == 0;
  for (const Fault& fault : faults) {
    fmt::print("  {}: told in {} of {}\n", fault.name, fault.told, asked.seeds);
    right = right && static_cast<std::uint64_t>(fault.told) == asked.seeds;
  }
  std::fflush(stdout);
  return right;
}

int run(const Asked& asked) {
  bool right = true;
  for (const PathSetting& setting : {PathSetting{.workload = "resnet9_thin", .steps = 4},
                                     PathSetting{.workload = "resnet9_thin", .steps = 12},
                                     PathSetting{.workload = "resnet9_thin", .steps = 24},
                                     PathSetting{.workload = "resnet9_thin", .steps = 109},
                                     PathSetting{.workload = "parabola", .steps = 200}}) {
    const std::string name = fmt::format("{}/{}", setting.workload, setting.steps);
    if (asked.only.empty() || asked.only == name) right = try_setting(setting, asked) && right;
  }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace regatta

int main(int argc, char** argv) {
  regatta::Asked asked;
  CLI::App app("How far reordered sums drive two runs apart");
  app.add_option("--orders", asked.orders);
  app.add_option("--seeds", asked.seeds);
  app.add_option("--first-seed", asked.first_seed);
  app.add_option("--only", asked.only);
  CLI11_PARSE(app, argc, argv);
  return regatta::run(asked);
}
