// SPDX-License-Identifier: Apache-2.0
//
// Claims on exchanges that are rarer or smaller than those of all_reduce, and on shards instead of
// copies. Each is compared with all_reduce with the same workers and processes. A strategy with
// rarer exchanges is compared with itself with an exchange in every step, because an outer
// optimizer has other effects, too.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/judge/claim_list.h"

namespace regatta::judge {
namespace {

constexpr double kMoreExamples = 1.02;
constexpr double kFewerExamples = 0.98;
constexpr double kRounding = 1e-6;  ///< of a loss (strategies/equivalence_test.cpp)
constexpr double kSooner = 0.95;    ///< of the training time of all_reduce
/// A worker plans its share of parameters and slots, and the gathered parameters: 1/n + 1 + 1/n of
/// them, which with two workers equals two copies.
constexpr std::int64_t kFewestToSave = 3;

/// Calls what(contestant, its runs, all_reduce's runs, field) for each wanted contestant.
template <typename Function>
void for_each_beside_all_reduce(std::span<const Field> fields, bool (*wanted)(const Contestant&),
                                Function what) {
  for (const Field& field : fields) {
    for (const auto& [contestant, runs] : field.runs) {
      if (!wanted(contestant) || contestant.workers < 2) continue;
      const auto* whole = counterpart(field, contestant, "all_reduce", contestant.processes);
      if (whole != nullptr) what(contestant, runs, whole->second, field);
    }
  }
}

bool is_sharded(const Contestant& contestant) {
  return contestant.strategy == "sharded" && contestant.workers >= kFewestToSave;
}

/// The last evaluated run of each seed that did not fail.
std::map<std::uint64_t, const record::Record*> by_seed(const Runs& runs) {
  std::map<std::uint64_t, const record::Record*> result;
  for (const record::Record* run : runs) {
    if (run->status != record::Status::Failed && !run->evaluations.empty())
      result[run->cell.seed] = run;
  }
  return result;
}

/// Returns the largest peak of a worker's process; 0 unless each worker has its own.
std::int64_t measured_bytes(const record::Record& run) {
  std::int64_t bytes = 0;
  if (run.cell.processes < run.cell.workers) return bytes;
  for (const auto& worker : run.workers) bytes = std::max(bytes, worker.process_peak_bytes);
  return bytes;
}

/// Whether losses differ only by rounding: shares add up the norm for clipping in another order.
bool are_equal(double a, double b) { return std::abs(a - b) <= kRounding * std::abs(b); }

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

Claim fewer_exchanges_cost_accuracy(std::span<const Field> fields) {
  Claim claim{.name = "fewer_exchanges_cost_accuracy",
              .taught =
                  "Workers that exchange every few steps only pay for it with accuracy: they "
                  "need more examples.",
              .figure = "exchanges"};
  std::vector<RatioComparison> comparisons;
  for (const Field& field : fields) {
    for (const auto& [contestant, runs] : field.runs) {
      const auto always = exchanging_always(contestant);
      if (!always || contestant.workers < 2) continue;
      const auto is_control = [&](const auto& cell) {
        Contestant other = cell.first;
        other.rate_scale = always->rate_scale;  // each may have a tuned rate
        return other == *always;
      };
      const auto control = std::ranges::find_if(field.runs, is_control);
      if (control == field.runs.end()) continue;
      keep(comparisons, compare_runs(label(contestant, field), runs, control->second,
                                     examples_to_target, kMoreExamples));
    }
  }
  conclude(claim, std::move(comparisons), Side::Above,
           {.measure = fmt::format("Examples to the target in terms of the same strategy with an "
                                   "exchange in every step, where more means above {}.",
                                   kMoreExamples),
            .above = "more",
            .below = "not more"},
           "local_sgd or diloco with several values of --sync-every, one of them 1");
  return claim;
}

Claim outer_optimizer_helps(std::span<const Field> fields) {
  Claim claim{.name = "outer_optimizer_helps",
              .taught =
                  "DiLoCo's outer optimizer helps by itself: one worker without exchanges "
                  "needs fewer examples than single.",
              .figure = "exchanges"};
  std::vector<RatioComparison> alone, together;
  for (const Field& field : fields) {
    const auto find = [&](auto wanted) { return std::ranges::find_if(field.runs, wanted); };
    const auto single = find([](const auto& cell) { return cell.first.strategy == "single"; });
    for (const auto& [contestant, runs] : field.runs) {
      if (contestant.strategy != "diloco") continue;
      const std::string what = label(contestant, field);
      if (contestant.workers == 1 && single != field.runs.end()) {
        keep(alone, compare_runs(what, runs, single->second, examples_to_target, kFewerExamples));
      }
      const auto one = find([&](const auto& cell) {
        return cell.first.strategy == "diloco" && cell.first.workers == 1 &&
               cell.first.options == contestant.options &&
               cell.first.rate_scale == contestant.rate_scale;
      });
      if (contestant.workers == 1 || one == field.runs.end()) continue;
      keep(together, compare_runs(what, runs, one->second, examples_to_target, kMoreExamples));
    }
  }
  Wording wording{.measure = fmt::format("Examples to the target in terms of single, where fewer "
                                         "means below {}.",
                                         kFewerExamples),
                  .above = "not fewer",
                  .below = "fewer"};
  for (const RatioComparison& each : together) {
    wording.more.push_back("the part of the exchange, in terms of diloco with one worker: " +
                           each.what + ' ' + ratio_text(each));
  }
  conclude(claim, std::move(alone), Side::Below, wording, "diloco with one worker beside single");
  return claim;
}

Claim compression_seldom_pays(std::span<const Field> fields) {
  Claim claim{.name = "compression_seldom_pays",
              .taught = "Compressed gradients seldom save time where the link is fast.",
              .figure = "exchanges"};
  std::vector<RatioComparison> comparisons;
  for_each_beside_all_reduce(
      fields, is_compressed,
      [&](const Contestant& contestant, const Runs& runs, const Runs& whole, const Field& field) {
        keep(comparisons,
             compare_runs(label(contestant, field), runs, whole, seconds_to_target, kSooner));
      });
  conclude(claim, std::move(comparisons), Side::Above,
           {.measure = fmt::format("Training time to the target in terms of all_reduce, where it "
                                   "pays below {}.",
                                   kSooner),
            .above = "does not pay",
            .below = "pays"},
           "compressed exchange, such as all_reduce+powersgd, beside all_reduce with the same "
           "workers");
  return claim;
}

Claim sharding_costs_no_accuracy(std::span<const Field> fields) {
  Claim claim{.name = "sharding_costs_no_accuracy",
              .taught = "Sharding parameters and optimizer costs no accuracy and saves memory.",
              .figure = "bytes"};
  std::vector<Fact> facts;
  for_each_beside_all_reduce(
      fields, is_sharded,
      [&](const Contestant& contestant, const Runs& runs, const Runs& whole, const Field& field) {
        const auto shares = by_seed(runs), copies = by_seed(whole);
        std::size_t both = 0, same = 0, close = 0;
        std::int64_t of_shares = 0, of_copies = 0;
        std::string measured;
        for (const auto& [seed, run] : shares) {
          const auto other = copies.find(seed);
          if (other == copies.end()) continue;
          ++both;
          const double loss = run->evaluations.back().loss;
          same += loss == other->second->evaluations.back().loss;
          close += are_equal(loss, other->second->evaluations.back().loss);
          of_shares = run->memory.planned_bytes;
          of_copies = other->second->memory.planned_bytes;
          const std::int64_t own = measured_bytes(*run), others = measured_bytes(*other->second);
          if (own == 0 || others == 0) continue;
          measured = fmt::format(", peaks at {} beside {}", megabytes(own), megabytes(others));
        }
        if (both == 0) return;
        const std::string within =
            same < close ? fmt::format(", {} within {}", close, kRounding) : "";
        facts.push_back(
            {.holds = close == both && of_shares < of_copies,
             .workers = {contestant.workers},
             .text = fmt::format("{}: {} of {} seeds end at the very loss of all_reduce{}; a "
                                 "process plans {} of memory, all_reduce's {}{}.",
                                 label(contestant, field), same, both, within, megabytes(of_shares),
                                 megabytes(of_copies), measured)});
      });
  conclude_facts(claim, facts,
                 "sharded beside all_reduce with the same workers, three or more: with two a share "
                 "and what is gathered are as large as a copy");
  return claim;
}

}  // namespace regatta::judge
