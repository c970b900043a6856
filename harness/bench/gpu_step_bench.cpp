// SPDX-License-Identifier: Apache-2.0
#include "harness/bench/gpu_step_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/judge/statistics.h"
#include "harness/run/timed_kernels.h"
#include "kernels/base/error.h"
#include "kernels/runtime/executor.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::bench {
namespace {

using Json = nlohmann::ordered_json;

/// Sums over kernels: of their times, gaps, work and bounds.
struct Sums {
  std::int64_t kernels = 0;
  double ms = 0, gap_ms = 0, flop = 0, bytes = 0;
  std::map<std::string, double> bound_ms;  ///< by limit

  void add(const KernelTiming& row, const Roof& roof) {
    ++kernels;
    ms += row.ms;
    gap_ms += row.gap_ms;
    flop += row.load.flop;
    bytes += row.load.bytes;
    bound_ms[name_of(roof.limit, row.load.element)] += roof.bound_ms;
  }
  Json json() const {
    double bound = 0;
    for (const auto& [limit, part] : bound_ms) bound += part;
    const auto most = std::max_element(bound_ms.begin(), bound_ms.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    return {{"kernels", kernels},
            {"ms", ms},
            {"gap_ms", gap_ms},
            {"gflop", flop * 1e-9},
            {"megabytes", bytes * 1e-6},
            {"limit", most->first},
            {"efficiency", ms > 0 ? bound / ms : 0}};
  }
};

Json ops_of(const std::vector<KernelTiming>& rows, const Peaks& peaks) {
  std::map<std::string, Sums> by_op;
  for (const KernelTiming& row : rows) by_op[row.op].add(row, roof_of(row.load, row.ms, peaks));
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [op, sums] : by_op) sorted.emplace_back(sums.ms, op);
  std::sort(sorted.rbegin(), sorted.rend());
  Json ops = Json::object();
  for (const auto& [ms, op] : sorted) ops[op] = by_op[op].json();
  return ops;
}

Json kernels_of(const std::vector<KernelTiming>& rows, const Peaks& peaks) {
  Json kernels = Json::array();
  for (const KernelTiming& row : rows) {
    Sums sums;
    sums.add(row, roof_of(row.load, row.ms, peaks));
    Json kernel{{"op", row.op}, {"layer", row.layer}};
    kernel.update(sums.json());
    if (!row.choice.empty()) kernel["choice"] = row.choice;
    kernels.push_back(kernel);
  }
  return kernels;
}

/// The time of kernels near each limit, and of kernels near neither.
Json limits_of(const std::vector<KernelTiming>& rows, const Peaks& peaks, double step_ms) {
  std::map<std::string, double> ms{{"memory bus", 0}, {"neither", 0}};
  for (const KernelTiming& row : rows) {
    const Roof roof = roof_of(row.load, row.ms, peaks);
    if (row.load.flop > 0) ms[name_of(Limit::Products, row.load.element)];
    ms[roof.is_near() ? name_of(roof.limit, row.load.element) : "neither"] += row.ms;
  }
  Json limits = Json::object();
  for (const auto& [limit, spent] : ms) {
    limits[limit] = {{"ms", spent}, {"share_of_step", spent / step_ms}};
  }
  return limits;
}

/// The times of the measured steps, in ms.
std::vector<double> step_times(const Executor& executor, const GpuStepOptions& options) {
  const std::vector<std::uint64_t> all = executor.loops().front().step_ticks;
  std::vector<double> ms;
  for (auto k = static_cast<std::size_t>(options.warm_up); k < all.size(); ++k) {
    ms.push_back(static_cast<double>(all[k]) * ns_per_tick() * 1e-6);
  }
  check(std::ssize(ms) == options.steps, "every step has a time");
  return ms;
}

/// The time spans of one step's kernels, from the begin of the first.
std::vector<KernelSpan> spans_of(const run::TimedKernels& timed, std::size_t step) {
  const QueueMark* first = nullptr;
  std::vector<KernelSpan> spans;
  double end = 0;
  for (const run::TimedKernels::NodeTimes& node : timed.nodes()) {
    if (node.head != nullptr) continue;
    check(node.queue != nullptr && node.queue == timed.nodes().front().queue,
          "all kernels of single are in one queue");
    const run::TimedKernels::Marks& marks = node.marks.at(step);
    if (!marks.ran) {
      spans.push_back({.begin_ms = end, .end_ms = end});
      continue;
    }
    if (first == nullptr) first = marks.begin.get();
    const double begin = marks.begin->ns_since(*first) * 1e-6;
    end = marks.end->ns_since(*first) * 1e-6;
    spans.push_back({.begin_ms = begin, .end_ms = end});
  }
  return spans;
}

std::vector<KernelTiming> rows_of(const run::TimedKernels& timed, const Graph& graph,
                                  const QueueSplit& split) {
  std::vector<KernelTiming> rows;
  std::map<const run::TimedKernels::NodeTimes*, std::size_t> numbers;
  for (const run::TimedKernels::NodeTimes& times : timed.nodes()) {
    if (times.head != nullptr) {
      KernelLoad& load = rows[numbers.at(times.head)].load;
      const KernelLoad more = load_of(graph, times.id);
      load.flop += more.flop;
      load.bytes += more.bytes;
      continue;
    }
    const std::size_t k = numbers[&times] = rows.size();
    rows.push_back({.op = std::string(to_string(times.op)),
                    .layer = graph.node(times.id).layer,
                    .choice = times.choice,
                    .load = load_of(graph, times.id),
                    .ms = split.kernel_ms[k],
                    .gap_ms = split.gap_ms[k]});
  }
  return rows;
}

ExecutorOptions executor_options(const DataSet& data, const GpuStepOptions& options,
                                 LaunchSteps launch) {
  return {.cores = options.cores,
          .threads_per_worker = std::max(1, static_cast<int>(options.cores.size())),
          .data = &data,
          .max_examples = (options.warm_up + options.steps) * options.batch,
          .launch = launch};
}

double measure_captured(Device& device, const KernelTable& kernels, const Step& part,
                        const DataSet& data, const GpuStepOptions& options) {
  const ExecutorOptions how = executor_options(data, options, LaunchSteps::AsOne);
  Executor executor(part, {kernels, device}, how);
  executor.prepare();
  executor.run(how.max_examples);
  return judge::median_interval(step_times(executor, options)).median;
}

std::set<ElementType> elements_of(const std::vector<KernelTiming>& rows) {
  std::set<ElementType> elements;
  for (const KernelTiming& row : rows) {
    if (row.load.flop > 0) elements.insert(row.load.element);
  }
  return elements;
}

}  // namespace

Json gpu_step_report(const std::vector<KernelTiming>& rows, const QueueSplit& split,
                     double captured_ms, const Peaks& peaks) {
  Json flop = Json::object();
  for (const auto& [element, per_second] : peaks.flop) {
    flop[name_of(Limit::Products, element)] = per_second * 1e-12;
  }
  return {{"step",
           {{"ms", split.step_ms},
            {"kernels_ms", split.kernels_ms},
            {"gaps_ms", split.gaps_ms},
            {"outside_ms", split.outside_ms}}},
          {"step_as_one",
           {{"ms", captured_ms}, {"outside_kernels_ms", captured_ms - split.kernels_ms}}},
          {"peaks", {{"tflop_per_s", flop}, {"memory_bus_gb_per_s", peaks.bytes * 1e-9}}},
          {"near_share", kNearShare},
          {"limits", limits_of(rows, peaks, split.step_ms)},
          {"ops", ops_of(rows, peaks)},
          {"kernels", kernels_of(rows, peaks)}};
}

Json measure_gpu_step(Device& device, const KernelTable& kernels, const Step& part,
                      const DataSet& data, const GpuStepOptions& options) {
  run::TimedKernels timed(kernels, "cuda", options.warm_up + options.steps);
  QueueSplit split;
  std::vector<KernelTiming> rows;
  std::int64_t planned_bytes = 0;
  {
    const ExecutorOptions how = executor_options(data, options, LaunchSteps::ByKernel);
    Executor executor(part, {timed.table(), device}, how);
    executor.prepare();
    executor.run(how.max_examples);
    planned_bytes = executor.planned_bytes();
    std::vector<MeasuredStep> steps;
    for (const double ms : step_times(executor, options)) {
      const auto step = static_cast<std::size_t>(options.warm_up) + steps.size();
      steps.push_back({.ms = ms, .kernels = spans_of(timed, step)});
    }
    split = split_of(std::move(steps));
    rows = rows_of(timed, executor.step().graph, split);
  }
  const double captured_ms = measure_captured(device, kernels, part, data, options);
  const Peaks peaks = measure_peaks(device, kernels, elements_of(rows), options.peaks);
  Json report = gpu_step_report(rows, split, captured_ms, peaks);
  report["memory"] = {{"planned_bytes", planned_bytes}};
  return report;
}

namespace {

void print_row(const std::string& name, const Json& of, double step_ms) {
  const double ms = of["ms"], gflop = of["gflop"], megabytes = of["megabytes"];
  const double speed = ms > 0 ? 1 / ms : 0;
  fmt::print("{:<44} {:>7} {:>9.4f} {:>6.1f} % {:>9.4f} {:>9.2f} {:>9.0f}  {:>5.2f} of {}\n", name,
             of["kernels"].get<int>(), ms, ms / step_ms * 100, of["gap_ms"].get<double>(),
             gflop * speed, megabytes * speed, of["efficiency"].get<double>(),
             of["limit"].get<std::string>());
}

void print_times(const Json& report, double batch) {
  const Json& step = report["step"];
  const double step_ms = step["ms"];
  const auto line = [&](const std::string& name, double ms) {
    fmt::print("{:<44} {:>17.4f} {:>6.1f} %\n", name, ms, ms / step_ms * 100);
  };
  line("in kernels", step["kernels_ms"]);
  line("gaps between them", step["gaps_ms"]);
  line("before the first and after the last", step["outside_ms"]);
  line("step, kernel by kernel", step_ms);
  const double as_one = report["step_as_one"]["ms"];
  line("step, launched as one", as_one);
  line("  of it in no kernel", report["step_as_one"]["outside_kernels_ms"]);
  fmt::print("{:.0f} images/s kernel by kernel, {:.0f} launched as one\n", batch / step_ms * 1e3,
             batch / as_one * 1e3);
}

void print_limits(const Json& report) {
  fmt::print("\nmeasured peaks: memory bus {:.0f} GB/s",
             report["peaks"]["memory_bus_gb_per_s"].get<double>());
  for (const auto& [name, peak] : report["peaks"]["tflop_per_s"].items()) {
    fmt::print(", {} {:.1f} TFLOP/s", name, peak.get<double>());
  }
  fmt::print("\nshare of the step, kernel by kernel, in kernels at {:.1f} or more of\n",
             report["near_share"].get<double>());
  for (const auto& [limit, part] : report["limits"].items()) {
    fmt::print("  {:<42} {:>17.4f} {:>6.1f} %\n", limit, part["ms"].get<double>(),
               part["share_of_step"].get<double>() * 100);
  }
}

}  // namespace

void print_gpu_step(const Json& report, double batch, Rows rows) {
  const double step_ms = report["step"]["ms"];
  fmt::print("{:<44} {:>7} {:>9} {:>8} {:>9} {:>9} {:>9}  {}\n", "step of single, by op", "kernels",
             "ms", "share", "gaps, ms", "TFLOP/s", "GB/s", "at");
  for (const auto& [op, of] : report["ops"].items()) print_row(op, of, step_ms);
  print_times(report, batch);
  print_limits(report);
  if (rows == Rows::Ops) return;
  fmt::print("\n");
  for (const Json& kernel : report["kernels"]) {
    print_row("  " + kernel["op"].get<std::string>() + " " + kernel["layer"].get<std::string>(),
              kernel, step_ms);
    if (kernel.contains("choice")) fmt::print("    {}\n", kernel["choice"].get<std::string>());
  }
}

}  // namespace regatta::bench
