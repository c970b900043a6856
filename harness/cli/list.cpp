// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <span>
#include <vector>

#include "harness/cli/doctor_gpu.h"
#include "harness/cli/list_json.h"
#include "harness/export/chakra.h"
#include "harness/matrix/tiers.h"
#include "harness/plan/placement.h"
#include "harness/plan/training_options.h"
#include "harness/simulate/node_times.h"
#include "harness/system/machine.h"
#include "harness/system/terminal.h"
#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/dot.h"
#include "kernels/graph/period.h"
#include "kernels/graph/text.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cli {
namespace {

constexpr std::size_t kIndent = 6;       // of lines below a name
constexpr std::size_t kColumns = 39;     // of a strategy's name and exchange
constexpr std::size_t kFactsBegin = 19;  // after any other name

/// Prints a text indented below a name.
void list_below(std::ostream& out, const std::string& text) {
  out << system::in_columns(std::string(kIndent, ' ') + text, kIndent) << '\n';
}

/// Prints the flags of a strategy or workload, if it has any.
void list_options(std::ostream& out, const std::vector<std::string>& flags) {
  if (flags.empty()) return;
  const std::string name = "      options: ";
  out << system::in_columns(fmt::format("{}{}", name, fmt::join(flags, " ")), name.size()) << '\n';
}

void list_workloads(std::ostream& out) {
  out << "workloads: tier, target, global batch, data sets\n";
  for (const workloads::Workload& workload : workloads::all_workloads()) {
    std::string target = workload.metric == workloads::Metric::Accuracy
                             ? fmt::format("accuracy {:g} %", workload.target)
                             : fmt::format("loss {:g}", workload.target);
    for (const auto& [data_set, other] : workload.other_targets) {
      target += other ? fmt::format(" ({} on {})", *other, data_set)
                      : fmt::format(" (none on {})", data_set);
    }
    const std::string facts =
        fmt::format("  {:18} {:8} {}; batch {}{}; {}", workload.name, workload.tier, target,
                    workload.global_batch,
                    workload.batch_scope == workloads::BatchScope::Replica ? " a replica" : "",
                    fmt::join(workload.data_sets, ", "));
    out << system::in_columns(facts, kFactsBegin) << '\n';
    list_below(out, std::string(workload.summary));
    std::vector<std::string> flags;
    for (const auto& [option, by_default] : workload.options) {
      flags.push_back(option->flag() + ' ' + regatta::to_text(by_default));
    }
    list_options(out, flags);
  }
}

void list_strategies(std::ostream& out) {
  out << "strategies: exchange, term in the literature\n";
  for (const strategies::Strategy* strategy : strategies::all_strategies()) {
    const std::string facts = fmt::format("  {:22} {:13} {}", strategy->name,
                                          to_string(strategy->exchange), strategy->term);
    out << system::in_columns(facts, kColumns) << '\n';
    list_below(out, std::string(strategy->summary));
    std::vector<std::string> flags;
    for (const Option* option : strategy->options) flags.push_back(option->flag());
    list_options(out, flags);
  }
  const std::string both = fmt::format("  {:22} ", "a+b");
  out << system::in_columns(both + "applies a, then b, such as all_reduce+model_parallel",
                            both.size())
      << '\n';
  std::vector<std::string> flags;
  for (const Option* option : strategies::options_of_passes()) flags.push_back(option->flag());
  out << fmt::format("  {:22} {}\n", "every strategy", fmt::join(flags, " "));
}

/// The distinct values of a flag in the cells, in their order; cells without the flag add none.
std::vector<std::string> values_of(const matrix::MatrixPlan& plan, const std::string& flag) {
  std::vector<std::string> values;
  for (const matrix::MatrixCell& cell : plan.cells) {
    const auto found = std::find(cell.arguments.begin(), cell.arguments.end(), flag);
    if (found == cell.arguments.end()) continue;
    const std::string& value = *(found + 1);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

void list_tiers(std::ostream& out) {
  out << "tiers of matrices: cells x seeds, workloads, workers, strategies\n";
  for (const std::string& name : matrix::tier_names()) {
    const matrix::MatrixPlan plan = matrix::tier_plan(name);
    const std::size_t cells = plan.cells.size(), seeds = plan.seeds.size();
    out << system::in_columns(fmt::format("  {:18} {}", name, matrix::tier_summary(name)),
                              kFactsBegin)
        << '\n';
    const std::vector<std::string> facts = {
        fmt::format("{} cells x {} seeds = {} runs", cells, seeds, cells * seeds),
        fmt::format("of {}", fmt::join(values_of(plan, "--workload"), ", ")),
        fmt::format("{} workers", fmt::join(values_of(plan, "--workers"), ", ")),
        fmt::format("{}", fmt::join(values_of(plan, "--strategy"), ", "))};
    list_below(out, fmt::format("{}", fmt::join(facts, "; ")));
  }
  out << "  how long one takes here: regatta matrix --tier quick --dry-run\n";
}

void list_devices(std::ostream& out) {
  const system::MachineFacts machine = system::machine_facts();
  const auto show = [&out](const std::string_view device, const std::string& text) {
    out << system::in_columns(fmt::format("  {:16} {}", device, text), kFactsBegin) << '\n';
  };
  out << "devices\n";
  show("cpu", fmt::format("{}, {} cores, {} {}", machine.cpu, machine.cores_available,
                          machine.architecture, fmt::join(machine.isa, " ")));
  const GpuFindings found = find_gpus();
  for (const GpuFacts& gpu : found.gpus) show("cuda", to_text(gpu));
  if (found.gpus.empty()) show("cuda", "not here: " + found.missing);
}

/// `title`: the part's name; empty if there is only one.
void show_part(std::ostream& out, const Graph& graph, const std::string& title) {
  out << to_text(graph);
  out << fmt::format("# {}{} nodes, {} variables\n", title, graph.nodes().size(),
                     graph.variables().size());
  for (const auto& [between, part] : traffic_between(graph)) {
    out << fmt::format("# bytes sent between {}: {}, collectives: {}\n", between, part.sent,
                       part.collectives);
  }
  const std::int64_t steps = steps_with_all_exchanges(graph);
  const std::map<Place, std::int64_t> most = most_sent_in_a_step(graph, steps);
  for (const auto& [place, traffic] : traffic(graph, steps)) {
    out << fmt::format("# {} sends {} bytes and receives {} bytes in {} messages {}\n",
                       to_string(place), traffic.sent, traffic.received, traffic.messages,
                       steps == 1 ? "a step"
                                  : fmt::format("in {} steps, and sends at most {} bytes in one",
                                                steps, most.at(place)));
  }
}

void require_flags_that_fit(const Command& command) {
  const auto refuse = [](const std::string& text) { throw RunError(ErrorKind::Usage, text); };
  if (command.format == GraphFormat::Chakra) {
    if (command.traces.empty()) {
      refuse("--format chakra is several files; fix: name a new folder with --out");
    }
    if (command.after != strategies::all_passes().back().name ||
        command.shows != Command::GraphShows::Graph) {
      refuse("--after and --passes show text or dot; fix: leave --format chakra out");
    }
    return;
  }
  if (!command.traces.empty()) refuse("--out is for --format chakra; others are printed");
  if (!command.request.cluster.empty()) {
    refuse("--cluster is for --format chakra; others have no times");
  }
}

void list_pass(std::ostream& out, const strategies::StepPass& pass, std::int64_t ns,
               std::span<const Step> steps) {
  std::size_t nodes = 0;
  for (const Step& step : steps) nodes += step.graph.nodes().size();
  out << system::in_columns(fmt::format("  {:16} {:8.2f} ms, {} nodes: {}", pass.name,
                                        static_cast<double>(ns) * 1e-6, nodes, pass.why_here),
                            kFactsBegin)
      << '\n';
}

exports::NodeTimes times_of(std::span<const Step> parts, const plan::RaceRequest& request) {
  if (request.cluster.empty()) return {};
  const simulate::ClusterFile file = simulate::read_cluster(
      request.cluster, system::machine_facts().cpu, system::software_facts().git_commit);
  return simulate::node_times_ns(parts, file, request);
}

}  // namespace

void list(std::ostream& out, const std::string& what, ListFormat format) {
  if (format == ListFormat::Json) {
    list_as_json(out, what);
    return;
  }
  if (what.empty() || what == "workloads") list_workloads(out);
  if (what.empty() || what == "strategies") list_strategies(out);
  if (what.empty() || what == "tiers") list_tiers(out);
  if (what.empty() || what == "devices") list_devices(out);
}

void show_graph(std::ostream& out, const Command& command) {
  require_flags_that_fit(command);
  const bool tells_passes = command.shows == Command::GraphShows::Passes;
  const bool is_last = command.after == strategies::all_passes().back().name;
  plan::Placement placement = plan::place_without_data(
      command.request,
      [&](const strategies::StepPass& pass, std::int64_t ns, std::span<const Step> steps) {
        if (tells_passes) return list_pass(out, pass, ns, steps);
        if (is_last || pass.name != command.after) return;
        const Graph& graph = steps.front().graph;
        out << (command.format == GraphFormat::Dot ? to_dot(graph) : to_text(graph));
      });
  if (tells_passes || !is_last) return;
  if (command.format == GraphFormat::Dot) {  // one picture for all processes
    out << to_dot(placement.placed->step.graph);
    return;
  }
  const std::vector<Step>& parts = placement.placed->parts;
  if (command.format == GraphFormat::Chakra) {
    exports::write_folder(command.traces,
                          exports::chakra_traces(parts, times_of(parts, command.request)));
    return;
  }
  for (std::size_t process = 0; process < parts.size(); ++process) {
    const std::string title = parts.size() == 1 ? "" : fmt::format("process {}: ", process);
    show_part(out, parts[process].graph, title);
  }
}

}  // namespace regatta::cli
