// SPDX-License-Identifier: Apache-2.0
//
// Shows where the time of a training step under `single` goes. On the CPU: the step by kind of op,
// its share of the roofline (roofline_bench.h), the time outside kernels, and MFU, which exceeds 1
// if Winograd's algorithm saves enough multiplications. With `--device cuda`:
// the step by kind of op and by kernel, the gaps between kernels, the step launched as one, and the
// limit of each kernel (gpu_step_bench.h defines the numbers). The first round warms up.
//   step_bench --workload NAME [--dtype bf16] [--batch 64] [--threads 2] [--json]
//   step_bench --workload NAME --dtype bf16 --device cuda [--layers] [--json]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/bench/gpu_step_bench.h"
#include "harness/judge/statistics.h"
#include "harness/plan/device_name.h"
#include "harness/plan/flag_values.h"
#include "harness/plan/placement.h"
#include "harness/plan/training_options.h"
#include "harness/run/backend.h"
#include "harness/run/peak.h"
#include "harness/run/timed_kernels.h"
#include "harness/system/output_file.h"
#include "harness/system/process.h"
#include "kernels/base/error.h"
#include "kernels/runtime/executor.h"
#include "kernels/runtime/gpu_facts.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::bench {
namespace {

using Json = nlohmann::ordered_json;

/// The run's length as a multiple of the measured steps. These are its first, so nothing that a
/// recipe freezes later is left out yet.
constexpr std::int64_t kLongRun = 100;

struct Options {
  plan::RaceRequest request;
  std::int64_t rounds = 5;
  std::int64_t steps_a_round = 2;
  std::int64_t peak_side = PeakSizes().side;
  bool layers = false;
  bool json = false;
  std::string save;  ///< a file; empty: nothing is saved
  system::IfThere if_there = system::IfThere::Refuse;
};

double milliseconds(std::uint64_t span) { return static_cast<double>(span) * ns_per_tick() * 1e-6; }

/// The peaks of these cores for the element types that the step computes with.
Peaks peaks_of(const Graph& graph, const std::vector<int>& cores) {
  Peaks peaks{.flop = {}, .bytes = run::measured_bandwidth(cores)};
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const KernelLoad load = load_of(graph, id);
    if (load.flop == 0 || peaks.flop.contains(load.element)) continue;
    peaks.flop[load.element] = run::measured_peak(load.element, cores).flops_per_s;
  }
  return peaks;
}

/// The least time of all kernels of each kind of op by the roofline. Units: ms.
std::map<std::string, double> bounds_of(const Graph& graph, const Peaks& peaks) {
  std::map<std::string, double> bounds;
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    bounds[std::string(to_string(graph.node(id).op))] +=
        roof_of(load_of(graph, id), 0, peaks).bound_ms;
  }
  return bounds;
}

/// Medians over the steps after `first`: the time of all kernels of each kind of op, and the time
/// outside kernels, `outside_kernels_ms`.
Json split_by_op(const run::TimedKernels& kernels, const LoopReport& loop, std::size_t first) {
  const auto steps = static_cast<std::size_t>(loop.steps);
  std::map<std::string, std::vector<double>> by_op;
  std::vector<double> step_ms, outside_ms;
  for (std::size_t k = first; k < steps; ++k) {
    std::map<std::string, std::uint64_t> spent;
    std::uint64_t inside = 0;
    for (const run::TimedKernels::NodeTimes& node : kernels.nodes()) {
      spent[std::string(to_string(node.op))] += node.ticks[k];
      inside += node.ticks[k];
    }
    for (const auto& [op, span] : spent) by_op[op].push_back(milliseconds(span));
    step_ms.push_back(milliseconds(loop.step_ticks[k]));
    outside_ms.push_back(step_ms.back() - milliseconds(inside));
  }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [op, times] : by_op)
    sorted.emplace_back(judge::median_interval(times).median, op);
  std::sort(sorted.rbegin(), sorted.rend());
  Json ops = Json::object();
  for (const auto& [ms, op] : sorted) ops[op] = ms;
  return {{"ms", judge::median_interval(step_ms).median},
          {"ops_ms", ops},
          {"outside_kernels_ms", judge::median_interval(outside_ms).median}};
}

/// The step and its data, as measured on either device.
struct Subject {
  workloads::DataSets data;
  plan::Placement placement;
  Step part;
  std::int64_t batch = 0;
  std::vector<int> cores;
};

std::unique_ptr<Subject> subject_of(const Options& options) {
  plan::RaceRequest request = options.request;
  const workloads::Workload& workload = workloads::find_workload(request.workload);
  const bool made = std::find(workload.data_sets.begin(), workload.data_sets.end(), "shapes") !=
                    workload.data_sets.end();
  const std::string dataset = !request.dataset.empty() ? request.dataset
                              : made                   ? "shapes"
                                                       : std::string(workload.data_sets.front());
  auto subject = std::make_unique<Subject>();
  subject->data = workloads::load_data(workload, dataset, plan::files_of(request));
  const DataSet& train = subject->data.train;
  request.steps = kLongRun * (options.rounds + 1) * options.steps_a_round;
  plan::Placement& placement = subject->placement = plan::place(request, train.count);
  plan::set_data_weights(placement, workloads::data_weights_of(workload, train));
  subject->batch = placement.recipe.global_batch;
  subject->part = placement.placed->parts.front();
  subject->cores = system::available_cores(request.cores);
  return subject;
}

Json measure_on_gpu(const Options& options) {
  const plan::RaceRequest& request = options.request;
  const std::unique_ptr<Subject> subject = subject_of(options);
  const std::unique_ptr<run::Backend> backend = run::make_backend("cuda");
  Json report{{"workload", request.workload},
              {"dtype", request.dtype},
              {"device", "cuda"},
              {"gpu", find_gpus().gpus.front().name},
              {"batch", subject->batch},
              {"rounds", options.rounds}};
  report.update(measure_gpu_step(
      *backend->gpu, backend->kernels, subject->part, subject->data.train,
      {.batch = subject->batch,
       .warm_up = options.steps_a_round,
       .steps = options.rounds * options.steps_a_round,
       .cores = subject->cores,
       .peaks = {.side = options.peak_side, .elements = options.peak_side * options.peak_side}}));
  return report;
}

Json measure(const Options& options) {
  const plan::RaceRequest& request = options.request;
  const std::unique_ptr<Subject> subject = subject_of(options);
  const std::vector<int>& cores = subject->cores;
  const std::int64_t batch = subject->batch;
  const std::int64_t steps = (options.rounds + 1) * options.steps_a_round;
  const auto threads = static_cast<int>(cores.size());
  const std::unique_ptr<run::Backend> backend = run::make_backend("cpu");
  run::TimedKernels timed(backend->kernels, "cpu", steps);
  const std::int64_t rss_before = system::peak_rss_bytes();
  Executor executor(subject->part, timed.table(),
                    {.cores = cores,
                     .threads_per_worker = threads,
                     .data = &subject->data.train,
                     .max_examples = steps * batch});
  executor.run(options.steps_a_round * batch);
  const std::int64_t rss_after = system::peak_rss_bytes();
  executor.run(steps * batch);

  Json step =
      split_by_op(timed, executor.loops().front(), static_cast<std::size_t>(options.steps_a_round));
  step["images_per_s"] = static_cast<double>(batch) / step["ms"].get<double>() * 1e3;
  const Peaks peaks = peaks_of(subject->part.graph, cores);
  step["bounds_ms"] = bounds_of(subject->part.graph, peaks);
  const plan::Placement& placement = subject->placement;
  step["mfu"] = placement.model_flops / step["ms"].get<double>() * 1e3 /
                peaks.flop.at(placement.recipe.element);
  Json roofline{{"bytes_per_s", peaks.bytes}};
  for (const auto& [element, flop] : peaks.flop) {
    roofline[std::string(to_string(element)) + "_flops_per_s"] = flop;
  }
  return {{"workload", request.workload},
          {"dtype", request.dtype},
          {"batch", batch},
          {"threads", threads},
          {"rounds", options.rounds},
          {"step", step},
          {"roofline", roofline},
          {"memory",
           {{"planned_bytes", executor.planned_bytes()},
            {"unshared_bytes", executor.unshared_bytes()},
            {"rss_before_bytes", rss_before},
            {"rss_after_bytes", rss_after}}}};
}

void print(const Json& report) {
  const Json& step = report["step"];
  const double batch = report["batch"], step_ms = step["ms"];
  fmt::print("{} {}, batch {}, {} threads, medians of {} rounds\n\n",
             report["workload"].get<std::string>(), report["dtype"].get<std::string>(), batch,
             report["threads"].get<int>(), report["rounds"].get<int>());
  fmt::print("{:<30} {:>9} {:>9} {:>12}\n", "step of single", "ms", "share", "of roofline");
  const auto share = [&](const std::string& name, double ms, double bound_ms = 0) {
    fmt::print("{:<30} {:>9.2f} {:>7.1f} %", name, ms, ms / step_ms * 100);
    if (bound_ms > 0) fmt::print(" {:>10.0f} %", bound_ms / ms * 100);
    fmt::print("\n");
  };
  double bound_ms = 0;
  for (const auto& [op, ms] : step["ops_ms"].items()) {
    const double bound = step["bounds_ms"].value(op, 0.0);
    share(op, ms, bound);
    bound_ms += bound;
  }
  share("in no kernel", step["outside_kernels_ms"]);
  share("step", step_ms, bound_ms);
  fmt::print("MFU {:.1f} %\n", 100 * step["mfu"].get<double>());
  fmt::print("\nroofline of these cores:");
  for (const auto& [name, peak] : report["roofline"].items()) {
    fmt::print(" {} {:.3g}", name, peak.get<double>());
  }
  fmt::print("\n");
  fmt::print("\n{:.0f} examples/s\n", step["images_per_s"].get<double>());
  const Json& memory = report["memory"];
  const auto megabytes = [&](const char* name) { return memory[name].get<double>() / 1e6; };
  fmt::print(
      "\nmemory: planned {:.1f} MB (unshared {:.1f}), peak RSS {:.1f} MB before, {:.1f} MB "
      "after building and the first steps\n",
      megabytes("planned_bytes"), megabytes("unshared_bytes"), megabytes("rss_before_bytes"),
      megabytes("rss_after_bytes"));
}

void print_on_gpu(const Json& report, bool layers) {
  fmt::print("{} {}, batch {}, {}, {} rounds\n\n", report["workload"].get<std::string>(),
             report["dtype"].get<std::string>(), report["batch"].get<int>(),
             report["gpu"].get<std::string>(), report["rounds"].get<int>());
  print_gpu_step(report, report["batch"].get<double>(), layers ? Rows::OpsAndKernels : Rows::Ops);
}

void declare(CLI::App& app, Options& options) {
  plan::RaceRequest& request = options.request;
  app.add_option("--workload", request.workload)->required();
  app.add_option("--dtype", request.dtype)->capture_default_str();
  app.add_option("--batch", request.global_batch, "default: the workload's");
  app.add_option("--winograd", request.winograd)->capture_default_str();
  app.add_option("--device", request.device, "cpu or cuda")->capture_default_str();
  app.add_option("--threads", request.cores)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--dataset", request.dataset, "default: shapes where the workload takes it");
  app.add_option("--data-dir", request.data_dir)->capture_default_str();
  app.add_option("--rounds", options.rounds)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps_a_round, "in a round")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--peak-side", options.peak_side,
                 "of the square matrices whose product gives a GPU's peak")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_flag("--layers", options.layers, "on a GPU: each kernel, too");
  app.add_flag("--json", options.json);
  app.add_option("--save", options.save, "file for the same JSON beside what is printed");
  plan::add_overwrite(app, options.if_there, "the file of --save");
}

int run(int argc, char** argv) {
  Options options;
  options.request.cores = 2;
  CLI::App app{"Where the time of a training step goes."};
  declare(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    const bool on_gpu = plan::is_gpu(options.request.device);
    std::optional<system::OutputFile> saved;
    if (!options.save.empty()) {
      saved.emplace(system::OutputOptions{options.save, "--save", options.if_there});
    }
    const Json report = on_gpu ? measure_on_gpu(options) : measure(options);
    if (saved) {
      saved->stream() << report.dump() << '\n';
      saved->commit();
    }
    if (options.json) {
      fmt::print("{}\n", report.dump());
    } else if (on_gpu) {
      print_on_gpu(report, options.layers);
    } else {
      print(report);
    }
  } catch (const RunError& error) {
    fmt::print(stderr, "step_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace regatta::bench

int main(int argc, char** argv) { return regatta::bench::run(argc, argv); }
