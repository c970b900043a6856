// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/example_graph.h"

#include "harness/plan/placement.h"
#include "harness/plan/race_request.h"
#include "kernels/graph/dot.h"
#include "workloads/workload.h"

namespace regatta::judge {

std::string example_graph(const strategies::Strategy& strategy) {
  const bool of_sequences = strategy.trains == strategies::Trains::Sequences;
  const workloads::Workload& workload =
      workloads::find_workload(of_sequences ? "gpt_tiny" : "parabola");
  const std::optional<workloads::DataSetSizes> data =
      workloads::data_set_sizes(workload.data_sets.front());
  check(data.has_value(), "every data set of the table has a size");
  plan::RaceRequest request;
  request.workload = workload.name;
  if (of_sequences) request.options["layers"] = 1;
  request.strategy = strategies::runnable_name(strategy);
  request.workers = strategy.name == "single" ? 1 : 2;
  return to_dot(plan::place(request, data->train).placed->step.graph);
}

}  // namespace regatta::judge
