// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/measure_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <thread>

#include "harness/run/timed_kernels.h"
#include "kernels/base/error.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/executor.h"
#include "kernels/runtime/lane.h"
#include "kernels/runtime/loops/gate.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::simulate {
namespace {

constexpr std::int64_t kWarmUpSteps = 2;

/// Gives every loop a ticket as soon as its previous step has ended.
class TicketsAtOnce final : public TicketPost {
 public:
  explicit TicketsAtOnce(std::int64_t steps) : steps_(steps) {}
  void publish(int, const Ticket&) override {}
  Ticket next(int loop) override {
    const std::lock_guard lock(mutex_);
    const std::int64_t step = given_[loop]++;
    return {.runs = step < steps_, .ends = false, .examples = step};
  }
  void abandon(int) override {}

 private:
  std::int64_t steps_;
  std::mutex mutex_;
  std::map<int, std::int64_t> given_;
};

/// Returns an exchange that leaves numbers unchanged, and sets tokens and classes to 0, because
/// they are indices of rows that other processes hold.
std::unique_ptr<Kernel> silent_kernel(const KernelRequest& request) {
  std::vector<Tensor> indices;
  std::ranges::copy_if(request.outputs, std::back_inserter(indices),
                       [](const Tensor& each) { return each.type.element == ElementType::I32; });
  return make_kernel([indices](const StepContext&) {
    for (const Tensor& each : indices) {
      std::memset(each.data, 0, static_cast<std::size_t>(each.type.bytes()));
    }
  });
}

/// Gathers this member's value in place of every member's, so that a loss in parts stays finite.
std::unique_ptr<Kernel> silent_gather(const KernelRequest& request) {
  if (!request.node.attributes.has("evenly")) return silent_kernel(request);
  const Tensor own = request.inputs[0], all = request.outputs[0];
  return make_kernel([=](const StepContext&) {
    const std::int64_t bytes = own.type.bytes();
    for (std::int64_t at = 0; at < all.type.bytes(); at += bytes) {
      std::memcpy(static_cast<std::byte*>(all.data) + at, own.data,
                  static_cast<std::size_t>(bytes));
    }
  });
}

/// CPU kernels, with silent exchanges.
KernelTable silent_table() {
  KernelTable table("cpu");
  add_cpu_kernels(table);
  for (const OpInfo& info : all_ops()) {
    if (info.crosses) {
      table.add(info.op, info.op == Op::AllGather ? silent_gather : silent_kernel);
    }
  }
  return table;
}

/// Returns the part with every node active in every step, so that all kernels are measured. Loops
/// stay within one step of each other, because on a busy machine one could take all examples before
/// another begins.
Step with_all_kernels(const Step& part) {
  Step same = part;
  const std::size_t loops = part.partition.parts.size();
  const bool all_are_here = loops > 1 && loops == static_cast<std::size_t>(part.partition.loops);
  if (all_are_here && !same.staleness_bound) same.staleness_bound = 1;
  same.graph = Graph();
  same.graph.copy_variables_of(part.graph);
  for (Node node : part.graph.nodes()) {
    if (node.attributes.has("every")) {
      node.attributes.set("every", std::int64_t{1});
      node.attributes.set("after", std::int64_t{0});
    }
    if (node.attributes.has("lag")) node.attributes.set("lag", std::int64_t{0});
    if (node.attributes.has("drawn")) {  // the only peer there is
      node.attributes.set("drawn", std::vector<std::int64_t>{0, 1, 0});
    }
    same.graph.add(std::move(node));
  }
  return same;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool knows_all(const Graph& graph, int threads, const virtual_time::KernelCosts& costs) {
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (!virtual_time::computes(graph, graph.node(id))) continue;
    if (!costs.contains(virtual_time::kernel_key(graph, id, threads))) return false;
  }
  return true;
}

int workers_in(const Graph& graph) {
  std::set<Place> places;
  for (const Node& node : graph.nodes()) {
    if (node.place.role == Role::Worker) places.insert(node.place);
  }
  return static_cast<int>(places.size());
}

/// Measures the kernels of one copy of a part while other copies run.
class PartTimes {
 public:
  PartTimes(const Step& part, const KernelTable& inner, const KernelMeasuring& options,
            std::vector<int> cores)
      : steps_(kWarmUpSteps + options.steps), timed_(inner, "cpu", steps_), tickets_(steps_) {
    ExecutorOptions made;
    made.cores = std::move(cores);
    made.threads_per_worker = virtual_time::lane_threads(part.graph, options.threads_per_worker);
    made.seed = options.seed;
    made.data = &options.data;
    made.max_examples = steps_ * part.global_batch;
    made.rules.tickets = &tickets_;
    executor_.emplace(part, timed_.table(), made);
  }

  /// Runs all steps. Without exchanges the loss may diverge; the steps measured until then count.
  void run() {
    try {
      executor_->run(steps_ * executor_->step().global_batch);
    } catch (const RunError& error) {
      if (error.kind() != ErrorKind::Diverged) error_ = error;
    }
  }

  void add_to(std::map<std::string, std::vector<double>>& spans, int threads) const {
    if (error_) throw RunError(*error_);
    const Graph& graph = executor_->step().graph;
    for (const run::TimedKernels::NodeTimes& times : timed_.nodes()) {
      if (!virtual_time::computes(graph, graph.node(times.id))) continue;
      std::vector<double>& all = spans[virtual_time::kernel_key(graph, times.id, threads)];
      for (std::size_t k = kWarmUpSteps; k < times.ticks.size(); ++k) {
        if (times.ticks[k] == 0) continue;  // the node did not run in this step
        all.push_back(static_cast<double>(ticks_to_ns(times.ticks[k])));
      }
    }
  }

  /// The compute times of all workers' steps, without input and updates.
  std::vector<double> step_ns() const {
    const Graph& graph = executor_->step().graph;
    const auto steps = static_cast<std::size_t>(steps_ - kWarmUpSteps);
    std::map<Place, std::vector<double>> sums;
    std::map<Place, std::vector<bool>> is_cut;
    for (const run::TimedKernels::NodeTimes& times : timed_.nodes()) {
      const Place& place = graph.node(times.id).place;
      if (place.role != Role::Worker) continue;
      if (category_of(graph, graph.node(times.id)) != Category::Compute) continue;
      sums[place].resize(steps);
      is_cut[place].resize(steps);
      for (std::size_t k = 0; k < steps; ++k) {
        const std::uint64_t ticks = times.ticks[kWarmUpSteps + k];
        if (ticks == 0) is_cut[place][k] = true;
        sums[place][k] += static_cast<double>(ticks_to_ns(ticks));
      }
    }
    std::vector<double> whole;
    for (const auto& [place, spans] : sums) {
      for (std::size_t k = 0; k < steps; ++k) {
        if (!is_cut[place][k]) whole.push_back(spans[k]);
      }
    }
    return whole;
  }

 private:
  std::int64_t steps_;
  run::TimedKernels timed_;
  TicketsAtOnce tickets_;
  std::optional<Executor> executor_;
  std::optional<RunError> error_;
};

/// Makes as many copies as there are cores for, so that kernels share caches and memory as on a
/// full machine.
std::vector<std::unique_ptr<PartTimes>> copies_of(const Step& part, const KernelTable& inner,
                                                  const KernelMeasuring& options) {
  const auto need =
      static_cast<std::size_t>(options.threads_per_worker * std::max(1, workers_in(part.graph)));
  const std::size_t copies =
      workers_in(part.graph) == 0 ? 1 : std::max<std::size_t>(1, options.cores.size() / need);
  std::vector<std::unique_ptr<PartTimes>> all;
  for (std::size_t c = 0; c < copies; ++c) {
    const std::size_t begin = c * need;
    const std::size_t end = std::min(options.cores.size(), begin + need);
    all.push_back(std::make_unique<PartTimes>(
        part, inner, options,
        std::vector<int>(options.cores.begin() + static_cast<std::ptrdiff_t>(begin),
                         options.cores.begin() + static_cast<std::ptrdiff_t>(end))));
  }
  return all;
}

}  // namespace

MeasuredKernels measure_kernels(const std::vector<Step>& parts, const KernelMeasuring& options,
                                MeasuredKernels measured) {
  const KernelTable inner = silent_table();
  for (const Step& part : parts) {
    const int threads = virtual_time::lane_threads(part.graph, options.threads_per_worker);
    if (knows_all(part.graph, threads, measured.costs)) continue;
    if (options.tell) options.tell(fmt::format("kernels of process {}", part.partition.process));
    std::map<std::string, std::vector<double>> spans;
    const bool has_steps = !measured.step_ns.empty() || workers_in(part.graph) == 0;
    for (int round = 0; round < options.rounds; ++round) {
      const auto copies = copies_of(with_all_kernels(part), inner, options);
      std::vector<std::jthread> beside;
      for (std::size_t c = 1; c < copies.size(); ++c) {
        beside.emplace_back([&, c] { copies[c]->run(); });
      }
      copies.front()->run();
      beside.clear();
      for (const auto& copy : copies) {
        copy->add_to(spans, threads);
        if (has_steps) continue;
        const std::vector<double> steps = copy->step_ns();
        measured.step_ns.insert(measured.step_ns.end(), steps.begin(), steps.end());
      }
    }
    for (const auto& [key, all] : spans) {
      if (!all.empty()) measured.costs.try_emplace(key, mean(all));
    }
  }
  return measured;
}

}  // namespace regatta::simulate
