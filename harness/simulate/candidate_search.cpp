// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/candidate_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "harness/plan/race_flags.h"
#include "harness/plan/training_options.h"
#include "harness/simulate/alike_workers.h"
#include "harness/simulate/memory_limit.h"
#include "harness/simulate/virtual_cell.h"
#include "harness/system/machine.h"
#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "strategies/candidates.h"
#include "strategies/shared_options.h"

namespace regatta::simulate {
namespace {

using Words = std::vector<std::string>;

constexpr std::array<std::pair<const char*, double>, 4> kUnits = {
    {{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};

constexpr std::int64_t kMostSteps = 32;  // simulated: 64 workers take a minute

RunError usage(const std::string& text) { return {ErrorKind::Usage, text}; }

/// Returns the arguments that are flags of a matrix's cell, and their values.
Words cell_words(const Words& arguments) {
  const Words flags = plan::cell_flags();
  Words words;
  bool keeps = false;
  for (const std::string& word : arguments) {
    if (word.starts_with("--")) {
      const std::string name = word.substr(0, word.find('='));
      keeps =
          name != strategies::kMicrobatches.flag() && std::ranges::find(flags, name) != flags.end();
    }
    if (keeps) words.push_back(word);
  }
  return words;
}

/// The smallest mean factor on compute time of any worker, over the steps to be simulated.
double least_factor(const virtual_time::Cluster& cluster, std::int64_t workers,
                    std::int64_t steps) {
  double least = virtual_time::kNoLimit;
  for (std::int64_t w = 0; w < workers; ++w) {
    double sum = 0;
    for (std::int64_t k = 0; k < steps; ++k) {
      sum += virtual_time::compute_factor(cluster.compute_times, cluster.seed,
                                          static_cast<std::uint32_t>(w),
                                          static_cast<std::uint32_t>(k));
    }
    least = std::min(least, sum / static_cast<double>(steps));
  }
  return least;
}

/// A lower bound of the compute time of a step.
double compute_bound(const VirtualCell& cell, double factor) {
  double longest = 0;
  for (const virtual_time::ProgramLane& lane : cell.program.lanes) {
    double ns = 0;
    for (const virtual_time::LaneInstruction& each : lane.instructions) {
      if (each.steps >= 0) continue;  // not in every step
      const bool varies = each.category == Category::Compute && !lane.communication;
      ns += each.ns * (varies ? factor : 1);
    }
    longest = std::max(longest, ns);
  }
  return longest;
}

/// A lower bound of the time that links need for the bytes of a step. Processes of one host may
/// send to each other, so only processes alone on their host count.
double link_bound(const VirtualCell& cell, const std::vector<Step>& parts) {
  const std::vector<int>& host_of = cell.options.host_of;
  double longest = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (std::ranges::count(host_of, host_of[p]) > 1) continue;
    const virtual_time::VirtualHost& host =
        cell.file.cluster.hosts[static_cast<std::size_t>(host_of[p])];
    MemberTraffic sum;
    for (const auto& [place, bytes] : traffic(parts[p].graph)) sum += bytes;
    longest = std::max({longest, static_cast<double>(sum.sent) / host.out_bytes_per_ns,
                        static_cast<double>(sum.received) / host.in_bytes_per_ns});
  }
  return longest;
}

/// Whether two candidates differ only by flags without an effect, such as --shard with one bucket.
bool are_alike(const Candidate& a, const Candidate& b) {
  return std::tie(a.memory_bytes, a.bytes_sent, a.bound_ns, a.step_ns) ==
         std::tie(b.memory_bytes, b.bytes_sent, b.bound_ns, b.step_ns);
}

class Search {
 public:
  explicit Search(const SearchRequest& request)
      : file_(read_cluster(request.race.cluster, system::machine_facts().cpu,
                           system::software_facts().git_commit)) {
    if (file_.cluster.devices) {
      result_.limit = "the memory of " + file_.cluster.devices->profile.name;
      limit_ = room_of(*file_.cluster.devices);
    }
    if (!request.memory.empty() && parse_memory(request.memory) < limit_) {
      result_.limit = "--memory " + request.memory;
      limit_ = parse_memory(request.memory);
    }
    result_.limit_bytes = limit_;
  }

  /// Measures the candidate, or counts the reason why that is impossible.
  void add(Candidate candidate) {
    try {
      measure(candidate);
    } catch (const RunError& error) {
      if (error.kind() != ErrorKind::Usage && error.kind() != ErrorKind::Unsupported) throw;
      ++result_.refused[error.what()];
    }
  }

  SearchResult finish() {
    const auto by_memory = [](const Candidate& a, const Candidate& b) {
      return a.memory_bytes < b.memory_bytes;
    };
    std::ranges::stable_sort(result_.too_large, by_memory);
    std::ranges::stable_sort(result_.fit, [](const Candidate& a, const Candidate& b) {
      if (a.step_ns.has_value() != b.step_ns.has_value()) return a.step_ns.has_value();
      return a.ns_per_example() < b.ns_per_example();
    });
    if (!result_.fit.empty()) return std::move(result_);
    if (result_.too_large.empty()) {
      using Reason = std::pair<const std::string, std::int64_t>;
      throw usage(std::ranges::max_element(result_.refused, {}, &Reason::second)->first);
    }
    const Candidate& least = result_.too_large.front();
    throw usage(fmt::format(
        "{}: the least that a worker needs is {}, with --strategy {}; fix: give it that "
        "much, more --workers, or a smaller --global-batch",
        result_.limit, bytes_text(least.memory_bytes), least.name));
  }

 private:
  void measure(Candidate& candidate) {
    const plan::RaceRequest race = plan::parse_run(candidate.flags);
    const plan::Placement placement = place_alike(race, file_);
    require_virtual(race, placement);
    const std::vector<Step>& parts = placement.placed->parts;
    candidate.memory_bytes = worst_memory(memory_of_places(parts, file_.cluster));
    for (const Step& part : parts) candidate.bytes_sent += bytes_sent_by_all(part, 1);
    if (candidate.memory_bytes > limit_) {
      result_.too_large.push_back(std::move(candidate));
      return;
    }
    const VirtualCell cell = virtual_cell(file_, race, placement, parts);
    if (!cell.program.unknown_kernels.empty()) {
      throw usage(
          "the calibration lacks kernels of it; fix: regatta calibrate --plan with this command's "
          "flags, and the threads of the cluster's file");
    }
    const std::int64_t steps =
        std::min(kMostSteps, steps_to_estimate(parts, file_.cluster.compute_times));
    const auto [factor, is_new] = factors_.try_emplace(steps);
    if (is_new) factor->second = least_factor(file_.cluster, std::ssize(parts), steps);
    candidate.bound_ns = std::max(compute_bound(cell, factor->second), link_bound(cell, parts));
    candidate.global_batch = placement.recipe.global_batch;
    const std::int64_t tokens = workloads::sequences_of(placement.recipe.options).context;
    if (tokens > 0) candidate.tokens = tokens;
    if (best_.size() < kBest || candidate.ns_per_example() <= *best_.rbegin()) {
      virtual_time::Simulation simulation(cell.program, cell.file.cluster, cell.options);
      simulation.advance_to(steps * candidate.global_batch);
      if (!(simulation.now() > 0)) throw usage("takes no time by the calibration");
      candidate.step_ns = simulation.now() / static_cast<double>(steps);
    }
    const auto same = std::ranges::find_if(
        result_.fit, [&](const Candidate& each) { return are_alike(each, candidate); });
    if (same != result_.fit.end()) throw usage("takes and sends the same as " + same->name);
    if (candidate.step_ns) {
      best_.insert(candidate.ns_per_example());
      if (best_.size() > kBest) best_.erase(std::prev(best_.end()));
    }
    result_.fit.push_back(std::move(candidate));
  }

  ClusterFile file_;
  std::int64_t limit_ = std::numeric_limits<std::int64_t>::max();
  std::map<std::int64_t, double> factors_;  ///< by number of steps
  std::multiset<double> best_;              ///< times per example of the fastest
  SearchResult result_;
};

}  // namespace

std::int64_t parse_memory(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  for (const auto& [name, bytes] : kUnits) {
    if (error != std::errc() || unit != name || !(number > 0) || !(number * bytes < 1e18)) continue;
    return std::llround(number * bytes);
  }
  throw usage(fmt::format(
      "--memory '{}': write a number above 0 and its unit, kB, MB, GB or TB, such as 80GB", text));
}

std::string bytes_text(std::int64_t bytes) {
  const auto* unit = kUnits.begin();
  while (std::next(unit) != kUnits.end() && static_cast<double>(bytes) >= 1e3 * unit->second)
    ++unit;
  return fmt::format("{:.4g} {}", static_cast<double>(bytes) / unit->second, unit->first);
}

std::vector<Candidate> candidates_for(const plan::RaceRequest& request) {
  if (request.workers < 2) {
    throw usage(fmt::format("--workers is {}; fix: give 2 or more, as one has nothing to divide",
                            request.workers));
  }
  Words microbatches = {"4", "16"};
  const auto given = request.options.find(strategies::kMicrobatches.name);
  if (given != request.options.end()) microbatches = {to_text(given->second)};
  const Words common = cell_words(request.arguments);
  std::vector<Candidate> all;
  for (Words& own : strategies::candidates(request.workers, microbatches)) {
    Candidate& made = all.emplace_back();
    made.name = fmt::format("{}", fmt::join(own.begin() + 1, own.end(), " "));
    own.insert(own.end(), {"--processes", std::to_string(request.workers)});
    for (const std::string& word : common) {
      const std::string name = word.substr(0, word.find('='));
      if (!name.starts_with("--") || std::ranges::find(own, name) == own.end()) continue;
      throw usage(name + " is a flag whose values are compared; fix: leave it out");
    }
    made.flags = common;
    made.flags.insert(made.flags.end(), own.begin(), own.end());
  }
  return all;
}

SearchResult search(const SearchRequest& request, const SearchWatch& watch) {
  workloads::find_workload(request.race.workload);
  if (request.race.cluster.empty()) {
    throw usage("regatta plan needs --cluster: a file of hosts and links, such as ci/cluster.toml");
  }
  std::vector<Candidate> all = candidates_for(request.race);
  Search search(request);
  for (std::size_t i = 0; i < all.size(); ++i) {
    watch(i, all.size(), all[i].name);
    search.add(std::move(all[i]));
  }
  return search.finish();
}

}  // namespace regatta::simulate
