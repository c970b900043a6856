// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/race_flags.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "harness/plan/flag_values.h"
#include "harness/plan/program_flags.h"
#include "harness/plan/stragglers.h"
#include "harness/system/command_text.h"
#include "kernels/base/error.h"
#include "strategies/strategy.h"

namespace regatta::plan {
namespace {

CLI::Option* declare_flag(CLI::App& app, const Option& option, OptionValues& given,
                          const std::string& text) {
  const bool is_real = std::holds_alternative<Real>(option.type);
  const bool is_count = std::holds_alternative<Count>(option.type);
  CLI::Option* flag = app.add_option_function<std::string>(
      option.flag(),
      [&given, &option, is_real, is_count](const std::string& word) {
        OptionValue& value = given[std::string(option.name)];
        if (is_real)
          value = system::parse_number<double>(option.flag(), word);
        else if (is_count)
          value = system::parse_number<std::int64_t>(option.flag(), word);
        else
          value = word;
      },
      text);
  if (is_real) flag->type_name(type_text<double>());
  if (is_count) flag->type_name(type_text<std::int64_t>());
  return flag;
}

/// Declares a strategy's option; its help begins with the strategies that declare it.
void declare(CLI::App& app, const Option& option, OptionValues& given) {
  const std::string help =
      "for " + strategies::names_of_declarers(option) + ": " + std::string(option.help);
  const std::optional<OptionValue> by_default = option.default_value();
  CLI::Option* flag =
      declare_flag(app, option, given, by_default ? help : help + " (default: none)");
  if (by_default) flag->default_str(to_text(*by_default));
}

/// Declares an option of workloads; its help has the default of each.
void declare_of_workloads(CLI::App& app, const Option& option, OptionValues& given) {
  std::string defaults;
  for (const workloads::Workload& workload : workloads::all_workloads()) {
    const OptionValues usual = workloads::with_defaults(workload, {}).given;
    const auto found = usual.find(option.name);
    if (found == usual.end()) continue;
    defaults +=
        (defaults.empty() ? "" : ", ") + std::string(workload.name) + ' ' + to_text(found->second);
  }
  declare_flag(app, option, given, std::string(option.help) + " (default: " + defaults + ')');
}

/// Puts the options that are declared next into the group `title` of the help.
void begin_group(CLI::App& app, const char* title) { app.option_defaults()->group(title); }

using record::flag_group::kCell;
using record::flag_group::kCompute;
using record::flag_group::kData;
using record::flag_group::kLength;
constexpr const char* kOptionsOfWorkloads = "Options of workloads";
constexpr const char* kOptionsOfAll = "Options of strategies of all kinds";
constexpr const char* kOptionsOfReplicas = "Options of strategies of replicas";
constexpr const char* kOptionsOfMeans = "Options of strategies that exchange parameters";
constexpr const char* kOptionsOfCompression = "Options of strategies that compress gradients";
constexpr const char* kOptionsOfStages = "Options of strategies of stages";
constexpr const char* kHosts = "Processes and hosts";
constexpr const char* kOutput = "Output";
constexpr const char* kOwn = "Options";  // for a subcommand with some of these flags, and --help

template <FlagNumber T>
system::NumberRange<T> range_of(const About& about) {
  using Least = typename system::NumberRange<T>::Least;
  return {.least = static_cast<T>(about.above.value_or(about.least)),
          .bound = about.above ? Least::Excluded : Least::Included};
}

/// Declares the flags that set a field of the cell as it is.
void declare_fields(CLI::App& app, record::Cell& cell, record::CellFlag::Of of) {
  for_each_field(cell, [&](std::string name, auto& value, const About& about, const auto& part) {
    if (part.flag.group == nullptr || part.flag.of != of) return;
    std::replace(name.begin(), name.end(), '_', '-');
    begin_group(app, part.flag.group);
    using T = typename decltype(std::optional(value))::value_type;
    if constexpr (FlagNumber<T>) {
      add_value(app, "--" + name, value, part.flag.help, range_of<T>(about));
    } else if constexpr (requires { add_value(app, name, value, name); }) {
      add_value(app, "--" + name, value, part.flag.help);
    } else {
      check(false, "a field with a flag is a text or a number");
    }
  });
}

void declare_cores(CLI::App& app, RaceRequest& request) {
  begin_group(app, kCompute);
  add_value(app, "--cores", request.cores, "that all workers of the run share; 0: all available");
}

void declare_data(CLI::App& app, RaceRequest& request) {
  begin_group(app, kData);
  add_data_dir(app, request.data_dir);
  add_value(app, "--data", request.data,
            "verified: of files those that their authors published; unverified: others, too, and "
            "the record tells their digest");
}

void declare_hosts(CLI::App& app, RaceRequest& request) {
  begin_group(app, kHosts);
  declare_reach(app, request);
  add_value(app, "--cluster", request.cluster,
            "TOML of hosts and links: the run takes its virtual time there, by costs that regatta "
            "calibrate has measured (default: a real run)");
  add_value(app, "--virtual", request.virtual_mode,
            "with --cluster, time: nothing is computed, for 200 steps, or 8 where all are alike, "
            "without --steps; train: this process computes all of it, in the order of virtual "
            "time");
  add_value(app, "--tls", request.tls,
            "folder of ca.pem, cert.pem and key.pem by which processes talk over TLS; what "
            "Open MPI carries stays plain (default: no TLS)");
  app.add_flag_callback(
      "--continue-on-loss", [&request] { request.on_loss = OnLoss::Continue; },
      "parameter_server_async, or parameter_server with backup workers, goes on without a worker's "
      "process that is lost");
}

void declare_output(CLI::App& app, RaceRequest& request, RunTexts& texts) {
  begin_group(app, kOutput);
  add_value(app, "--out", texts.out,
            "folder whose records.jsonl the record is added to; simulated.jsonl with --cluster");
  add_value(app, "--trace", request.trace,
            "file for a timeline of all processes in the Chrome trace format, which "
            "ui.perfetto.dev opens (default: none)");
  add_overwrite(app, request.if_there, "the file of --trace");
  add_value(app, "--checkpoint-every", request.checkpoint_every,
            "steps from one checkpoint to the next; the last is kept in "
            "OUT/checkpoints/RUN_ID until the run has finished (default: none)");
  add_value(app, "--resume", request.resume,
            "a checkpoint, or its folder: the run goes on from there, with the flags that it "
            "began with (default: none)");
  add_value(app, "--round", texts.round,
            "NUMBER:PRECISION of a matrix that decides, for the record; regatta matrix --decide "
            "sets it (default: none)");
}

/// Returns the arguments without `flags` and their values, whether a value is the next word or
/// follows a `=`.
std::vector<std::string> without(const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& flags) {
  std::vector<std::string> left;
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    const std::string name = word->substr(0, word->find('='));
    if (std::find(flags.begin(), flags.end(), name) == flags.end()) {
      left.push_back(*word);
    } else if (name == *word) {
      ++word;
    }
  }
  return left;
}

/// Sets the arguments and the command for the record. They have --data-dir only if the run reads
/// files.
void set_arguments(RaceRequest& request, const std::vector<std::string>& arguments) {
  request.arguments = arguments;
  const auto reads = [&request](const workloads::Workload& each) {
    return each.name == request.workload && !workloads::is_made(dataset_of(request, each));
  };
  const bool reads_files = std::ranges::any_of(workloads::all_workloads(), reads);
  std::vector<std::string> words = reads_files ? arguments : without(arguments, {"--data-dir"});
  words.insert(words.begin(), "regatta");
  request.command = system::command_text(words);
}

const char* group_of(const Option& option) {
  const auto of_all = strategies::options_of_passes();
  if (std::ranges::find(of_all, &option) != of_all.end()) return kOptionsOfAll;
  // True if only strategies of the kind declare the option.
  const auto is_only_of = [&](auto is_of_kind) {
    return std::ranges::all_of(strategies::all_strategies(), [&](const auto* each) {
      return is_of_kind(*each) || std::ranges::find(each->options, &option) == each->options.end();
    });
  };
  const auto exchanges = [](strategies::Exchange how) {
    return [how](const strategies::Strategy& each) { return each.exchange == how; };
  };
  if (is_only_of([](const auto& each) { return strategies::share_a_replica(each.workers); })) {
    return kOptionsOfStages;
  }
  if (is_only_of(exchanges(strategies::Exchange::Periodic))) return kOptionsOfMeans;
  if (is_only_of(exchanges(strategies::Exchange::Compressed))) return kOptionsOfCompression;
  return kOptionsOfReplicas;
}

}  // namespace

void declare_cell(CLI::App& app, RaceRequest& request) {
  declare_fields(app, request, record::CellFlag::Of::AllGraphs);
  app.get_option("--workload")->required();
  begin_group(app, kCell);
  add_value(app, "--stages", request.stages,
            "stages of each replica in a composition such as all_reduce+model_parallel "
            "(default: none)");
  begin_group(app, kOptionsOfWorkloads);
  for (const Option* option : workloads::all_options()) {
    declare_of_workloads(app, *option, request.options);
  }
  for (const Option* option : strategies::all_options()) {
    begin_group(app, group_of(*option));
    declare(app, *option, request.options);
  }
  begin_group(app, kLength);
  add_value(app, "--global-batch", request.global_batch,
            "examples in a step over all workers (default: the workload's)");
  begin_group(app, kCompute);
  add_value(app, "--winograd", request.winograd,
            "convolutions that gain by it on the CPU by Winograd's algorithm: on, off, or auto, "
            "which is on where there are any, but for bf16 where the processor has AMX");
  add_value(app, "--cuda-graph", request.cuda_graph,
            "each step on a GPU as one launch: on, off, or auto, which is on where the host "
            "has no part in a step");
  begin_group(app, kHosts);
  add_value(app, "--processes", request.processes,
            "processes that the workers are dealt to, started by mpirun; 1: all is in this one "
            "(default: 1; a worker each with parameter servers)");
  begin_group(app, kOwn);
}

void declare_reach(CLI::App& app, RaceRequest& request) {
  add_value(app, "--hosts", request.hosts,
            "Open MPI hostfile of the machines to run on (default: this one)");
  add_value(app, "--listen", request.listen,
            "address of this machine that ranks on others reach (default: Unix sockets)");
}

void declare_run(CLI::App& app, RaceRequest& request, RunTexts& texts) {
  declare_cell(app, request);
  declare_fields(app, request, record::CellFlag::Of::Runs);
  begin_group(app, kCell);
  add_value(app, "--seeds", request.seeds,
            "runs, one after the other in this process: of --seed and of the seeds behind it",
            system::NumberRange<std::int64_t>{.least = 1, .most = kMostSeeds});
  begin_group(app, kLength);
  add_value(app, "--target", request.target,
            "value of the metric that has to be reached; the workload's options do not change it "
            "(default: the workload's)");
  declare_cores(app, request);
  add_value(
      app, "--straggler", texts.stragglers,
      "WORKER:FACTOR[,...]: delays a worker, so that computing takes it FACTOR times as long, such "
      "as 1:2.0; the record has the true factor (default: none)");
  declare_data(app, request);
  declare_hosts(app, request);
  declare_output(app, request, texts);
  declare_program(app, request);
}

void declare_dump(CLI::App& app, RaceRequest& request) {
  declare_cell(app, request);
  declare_fields(app, request, record::CellFlag::Of::Runs);
  declare_cores(app, request);
  declare_data(app, request);
  begin_group(app, kOwn);
}

record::Round parse_round(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  return {
      .number = system::parse_number<std::int64_t>("--round", text.substr(0, colon), {.least = 1}),
      .precision = system::parse_number<double>(
          "--round", text.substr(std::min(colon + 1, text.size())),
          {.least = 0, .bound = system::NumberRange<double>::Least::Excluded})};
}

void complete(RaceRequest& request, const RunTexts& texts, int argc, const char* const* argv) {
  request.stragglers = parse_stragglers(texts.stragglers);
  if (!texts.round.empty()) request.round = parse_round(texts.round);
  set_arguments(request, {argv + 1, argv + argc});
  request.rank_logs = texts.out + "/ranks";
  request.checkpoints = texts.out + "/checkpoints";
  request.program.files = texts.out + "/programs";
}

std::string dataset_of(const RaceRequest& request, const workloads::Workload& workload) {
  return request.dataset.empty() ? std::string(workload.data_sets.front()) : request.dataset;
}

RaceRequest parse_run(const std::vector<std::string>& arguments) {
  std::vector<const char*> words = {"regatta", "run"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  RaceRequest request;
  RunTexts texts;
  CLI::App app;
  declare_run(*app.add_subcommand("run"), request, texts);
  parse_words(app, static_cast<int>(words.size()), words.data());
  complete(request, texts, static_cast<int>(words.size()), words.data());
  return request;
}

std::vector<RaceRequest> runs_of(const RaceRequest& request) {
  if (request.seeds == 1) return {request};
  for (const auto& [flag, value] :
       {std::pair("--trace", request.trace), std::pair("--resume", request.resume),
        std::pair("--cluster", request.cluster)}) {
    if (value.empty()) continue;
    throw RunError(ErrorKind::Usage, std::string(flag) + " is of one run, and --seeds asks for " +
                                         std::to_string(request.seeds) +
                                         "; fix: leave one of them out");
  }
  std::vector<RaceRequest> runs;
  for (std::int64_t i = 0; i < request.seeds; ++i) {
    RaceRequest run = request;
    run.seeds = 1;
    run.seed = request.seed + static_cast<std::uint64_t>(i);
    std::vector<std::string> arguments = without(request.arguments, {"--seed", "--seeds"});
    arguments.insert(arguments.end(), {"--seed", std::to_string(run.seed)});
    set_arguments(run, arguments);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<std::string> cell_flags() {
  static const std::set<std::string> kOfSeedsOrFiles = {
      "--round", "--seed",  "--seeds",  "--cluster",          "--virtual", "--data-dir",
      "--out",   "--trace", "--resume", "--checkpoint-every", "--work"};
  CLI::App app;
  RaceRequest request;
  RunTexts texts;
  declare_run(app, request, texts);
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const bool has_value = option->get_items_expected() > 0;
    if (has_value && !kOfSeedsOrFiles.contains(name)) flags.push_back(name);
  }
  return flags;
}

}  // namespace regatta::plan
