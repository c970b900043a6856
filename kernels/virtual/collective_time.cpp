// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/collective_time.h"

#include <cstdint>
#include <utility>

#include "kernels/virtual/program.h"
#include "kernels/virtual/simulation.h"

namespace regatta::virtual_time {
namespace {

/// A program of one loop whose lanes are the members and run the collective alone.
Program program_of(const CollectiveShape& shape, int processes) {
  Program program{.processes = processes, .global_batch = 1};
  ProgramCollective collective{
      .schedule = CollectiveSchedule(shape), .by_library = shape.algorithm == kMpi, .lanes = {}};
  for (std::int64_t m = 0; m < shape.members; ++m) {
    const auto member = static_cast<std::int32_t>(m);
    const auto index = static_cast<std::size_t>(m);
    program.lanes.push_back(
        {.process = shape.part_of.empty() ? 0 : static_cast<int>(shape.part_of[index]),
         .place = {.replica = member},
         .leads = m == 0,
         .instructions = {{.work = Work::Collective, .number = 0, .member = member}},
         .stages = {}});
    collective.lanes.push_back(member);
  }
  program.loops.push_back({.examples = 1, .lanes = collective.lanes});
  program.collectives.push_back(std::move(collective));
  return program;
}

}  // namespace

double collective_ns(const CollectiveShape& shape, const Cluster& cluster,
                     const std::vector<int>& host_of) {
  const Program program = program_of(shape, static_cast<int>(host_of.size()));
  Simulation simulation(program, cluster, {.host_of = host_of, .stragglers = {}});
  simulation.advance_to(program.global_batch);
  return simulation.now();
}

}  // namespace regatta::virtual_time
