// SPDX-License-Identifier: Apache-2.0
//
// Claims on bytes and on the size of graphs, and on their cost in time. Sizes follow from the
// graph, so one run suffices; times need several runs.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/claim_list.h"

namespace regatta::judge {
namespace {

constexpr double kInProportion = 0.95;
constexpr double kOfTwice = 1.01;  ///< rounding of rings with unequal parts
constexpr double kHalfOfGrowth = 0.5;
constexpr double kNotSlower = 0.95;
constexpr double kLoaded = 1.2;

/// The most bytes of a step at one place.
double most_bytes(const record::Record& record, std::int64_t record::WorkerRecord::*counted) {
  double most = 0;
  for (const record::WorkerRecord& worker : record.workers) {
    if (worker.steps == 0) continue;
    most = std::max(most, static_cast<double>(worker.*counted) / static_cast<double>(worker.steps));
  }
  return most;
}

double busiest(const record::Record& record) {
  return most_bytes(record, &record::WorkerRecord::bytes_sent);
}

/// One server receives the gradients of each worker, which are f32 even where weights
/// travel as bf16.
double most_received(const record::Record& record) {
  return most_bytes(record, &record::WorkerRecord::bytes_received);
}

double nodes_of_largest(const record::Record& record) {
  const auto& nodes = record.graph.nodes_per_process;
  return nodes.empty() ? 0 : static_cast<double>(*std::max_element(nodes.begin(), nodes.end()));
}

using ByWorkers = std::map<std::int64_t, double>;

/// One run's value for each number of workers. Failed runs are left out: their counts end early.
template <typename Wanted>
ByWorkers by_workers(const Field& field, Wanted wanted, double (*value)(const record::Record&)) {
  ByWorkers result;
  for (const auto& [contestant, runs] : field.runs) {
    if (!wanted(contestant) || is_unusual(contestant, "backup_workers")) continue;
    for (const record::Record* run : runs) {
      const double one = value(*run);
      if (run->status != record::Status::Failed && one > 0)
        result.try_emplace(contestant.workers, one);
    }
  }
  return result;
}

bool is_ring(const Contestant& contestant) {
  return contestant.strategy == "all_reduce" && !is_unusual(contestant, "all_reduce") &&
         contestant.workers > 1;
}

bool has_one_server(const Contestant& contestant) {
  return contestant.strategy == "parameter_server" && !is_unusual(contestant, "servers") &&
         contestant.workers > 1;
}

bool in_one_graph(const Contestant& contestant) { return contestant.strategy == "in_graph"; }

bool in_own_graphs(const Contestant& contestant) {
  return contestant.strategy == "all_reduce" && contestant.processes == contestant.workers &&
         contestant.workers > 1;
}

std::string bytes_text(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  return bytes < 1e6 ? fmt::format("{:.1f} kB", bytes / 1e3)
                     : fmt::format("{:.2f} MB", bytes / 1e6);
}

std::string series(const ByWorkers& values, std::string (*text)(double)) {
  std::string result;
  for (const auto& [workers, value] : values) {
    result += fmt::format("{}{} at {}", result.empty() ? "" : ", ", text(value), workers);
  }
  return result;
}

std::set<std::int64_t> workers_of(const ByWorkers& values) {
  std::set<std::int64_t> workers;
  for (const auto& [count, value] : values) workers.insert(count);
  return workers;
}

std::string whole_number(double value) { return fmt::format("{:.0f}", value); }

std::vector<RatioComparison> speeds_beside(std::span<const Field> fields,
                                           const std::string& strategy, const std::string& beside) {
  std::vector<RatioComparison> comparisons;
  for (const Field& field : fields) {
    for (const auto& [contestant, runs] : field.runs) {
      if (contestant.strategy != strategy || contestant.oversubscribed) continue;
      if (is_unusual(contestant, "servers") || is_unusual(contestant, "backup_workers") ||
          contestant.workers < 2)
        continue;
      if (!contestant.straggler.empty()) continue;  // it would hide the cost of the exchange
      const bool over_processes = strategy == "parameter_server";
      const auto* other =
          counterpart(field, contestant, beside,
                      over_processes ? std::optional(contestant.workers) : std::nullopt);
      if (other == nullptr) continue;
      keep(comparisons,
           compare_runs(label(contestant, field), runs, other->second, speed, kNotSlower));
    }
  }
  return comparisons;
}

}  // namespace

Claim central_link_carries_all(std::span<const Field> fields) {
  Claim claim{.name = "central_link_carries_all",
              .taught =
                  "A parameter server's link carries every worker's bytes, so its load grows "
                  "with the workers; a worker of a ring sends less than twice the parameters, "
                  "however many there are.",
              .figure = "bytes"};
  std::vector<Fact> facts;
  for (const Field& field : fields) {
    const ByWorkers server = by_workers(field, has_one_server, busiest);
    const ByWorkers gradients = by_workers(field, has_one_server, most_received);
    const ByWorkers ring = by_workers(field, is_ring, busiest);
    if (server.size() < 2 || ring.size() < 2) continue;
    const auto [few, least] = *server.begin();
    const auto [many, most] = *server.rbegin();
    const double parameters = gradients.begin()->second / static_cast<double>(few);
    const double in_proportion = static_cast<double>(many) / static_cast<double>(few);
    const bool grows = most / least >= kInProportion * in_proportion;
    const bool flat = std::all_of(ring.begin(), ring.end(), [&](const auto& entry) {
      return entry.second <= kOfTwice * 2 * parameters;
    });
    facts.push_back(
        {.holds = grows && flat,
         .workers = workers_of(server),
         .text = fmt::format("{}: by workers the server sends {} in a step, the busiest "
                             "worker of the ring {}; twice the parameters are {}.",
                             field.name, series(server, bytes_text), series(ring, bytes_text),
                             bytes_text(2 * parameters))});
  }
  conclude_facts(claim, facts,
                 "parameter_server and all_reduce by ring with two numbers of workers each");
  return claim;
}

Claim central_link_costs_time(std::span<const Field> fields) {
  Claim claim{.name = "central_link_costs_time",
              .taught = "The parameter server's central link is the bottleneck: a ring is faster.",
              .figure = "time_split"};
  auto comparisons = speeds_beside(fields, "parameter_server", "all_reduce");
  conclude(
      claim, std::move(comparisons), Side::Below,
      {.measure = fmt::format("Speed of one server in terms of the ring over as many processes as "
                              "workers, where slower means below {}.",
                              kNotSlower),
       .above = "not slower",
       .below = "slower"},
      "parameter_server with one server beside all_reduce by ring over as many processes as "
      "workers");
  return claim;
}

Claim in_graph_grows(std::span<const Field> fields) {
  Claim claim{.name = "in_graph_grows",
              .taught =
                  "In-graph replication's one graph grows with the workers; between-graph "
                  "replication over processes leaves the graph of each process as it is.",
              .figure = "graph_size"};
  std::vector<Fact> facts;
  for (const Field& field : fields) {
    const ByWorkers one = by_workers(field, in_one_graph, nodes_of_largest);
    const ByWorkers own = by_workers(field, in_own_graphs, nodes_of_largest);
    if (one.size() < 2) continue;
    const auto growth = [](const ByWorkers& values) {
      return values.rbegin()->second / values.begin()->second - 1;
    };
    const double of_workers =
        static_cast<double>(one.rbegin()->first) / static_cast<double>(one.begin()->first) - 1;
    const bool others_flat = own.size() < 2 || growth(own) < kHalfOfGrowth * growth(one);
    Fact fact{.holds = growth(one) >= kHalfOfGrowth * of_workers && others_flat,
              .workers = workers_of(one),
              .text = fmt::format("{}: by workers the one graph has {} nodes", field.name,
                                  series(one, whole_number))};
    fact.text += own.empty() ? "."
                             : fmt::format(", the largest of a process of all_reduce {}.",
                                           series(own, whole_number));
    facts.push_back(std::move(fact));
  }
  conclude_facts(claim, facts, "in_graph with two numbers of workers");
  return claim;
}

Claim central_storage_pays_transfers(std::span<const Field> fields) {
  Claim claim{
      .name = "central_storage_pays_transfers",
      .taught =
          "Central storage is slower than in-graph replication: it sends to and from the host.",
      .figure = "bytes"};
  auto comparisons = speeds_beside(fields, "central_storage", "in_graph");
  std::vector<std::string> bytes;
  for (const Field& field : fields) {
    for (const auto& [contestant, runs] : field.runs) {
      if (contestant.strategy != "central_storage") continue;
      const auto* other = counterpart(field, contestant, "in_graph");
      if (other == nullptr || !contestant.straggler.empty()) continue;
      bytes.push_back(fmt::format(
          "{} sends {} in a step, in_graph {}", label(contestant, field),
          bytes_text(static_cast<double>(runs.front()->graph.bytes_per_step_computed)),
          bytes_text(static_cast<double>(other->second.front()->graph.bytes_per_step_computed))));
    }
  }
  conclude(claim, std::move(comparisons), Side::Below,
           {.measure =
                fmt::format("Speed in terms of in_graph, where slower means below {}.", kNotSlower),
            .above = "not slower",
            .below = "slower",
            .more = bytes},
           "central_storage beside in_graph with the same workers");
  return claim;
}

Claim reduction_loads_one_device(std::span<const Field> fields) {
  Claim claim{.name = "reduction_loads_one_device",
              .taught =
                  "Reduction to one device sends everything through that device; a ring "
                  "loads all alike.",
              .figure = "bytes"};
  std::vector<Fact> facts;
  for (const Field& field : fields) {
    const auto to_one = [](const Contestant& contestant) {
      const auto algorithm = contestant.options.find("all_reduce");
      return contestant.strategy == "all_reduce" && contestant.workers > 1 &&
             algorithm != contestant.options.end() && to_text(algorithm->second) == "reduce_to_one";
    };
    const ByWorkers one = by_workers(field, to_one, busiest);
    const ByWorkers ring = by_workers(field, is_ring, busiest);
    for (const auto& [workers, sent] : one) {
      const auto other = ring.find(workers);
      if (workers < 3 || other == ring.end()) continue;  // at two workers both send the same
      facts.push_back(
          {.holds = sent >= kLoaded * other->second,
           .workers = {workers},
           .text = fmt::format("{}, {} workers: the busiest place sends {} in a step, "
                               "in a ring {}.",
                               field.name, workers, bytes_text(sent), bytes_text(other->second))});
    }
  }
  conclude_facts(claim, facts,
                 "all_reduce by reduce_to_one and by ring with three workers or more");
  return claim;
}

}  // namespace regatta::judge
