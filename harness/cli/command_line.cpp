// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "harness/cli/help_format.h"
#include "harness/matrix/tiers.h"
#include "harness/plan/flag_values.h"
#include "harness/plan/race_flags.h"
#include "harness/system/machine.h"
#include "kernels/base/names.h"
#include "strategies/passes.h"

namespace regatta::cli {
namespace {

CLI::Validator one_of(const std::string& what, const std::vector<std::string>& names) {
  return CLI::Validator(
      [what, names](const std::string& given) -> std::string {
        if (std::find(names.begin(), names.end(), given) != names.end()) return "";
        return unknown_name(what, given, names).what();
      },
      "");
}

void declare_matrix(CLI::App& app, matrix::MatrixRequest& request) {
  auto* file = plan::add_value(app, "file", request.file, "TOML: which cells, how many seeds");
  plan::add_value(app, "--tier", request.tier,
                  "instead of a file: " + CLI::detail::join(matrix::tier_names(), ", ") +
                      " (regatta list tiers)")
      ->excludes(file);
  plan::add_value(app, "--seeds", request.seeds, "seeds 1 to this many (default: the matrix' own)",
                  system::NumberRange<std::int64_t>{.least = 1, .most = plan::kMostSeeds});
  plan::add_value(app, "--out", request.out, "folder whose records.jsonl the records are added to");
  plan::add_data_dir(app, request.data_dir);
  const auto set = [&request](matrix::MatrixRequest::Mode mode) {
    return [&request, mode] { request.mode = mode; };
  };
  auto* dry = app.add_flag_callback("--dry-run", set(matrix::MatrixRequest::Mode::DryRun),
                                    "show cells, those that cannot be and why, and the time");
  app.add_flag_callback("--resume", set(matrix::MatrixRequest::Mode::Resume),
                        "run what the folder does not hold yet")
      ->excludes(dry);
  app.add_flag_callback(
      "--tune", [&request] { request.tune = matrix::MatrixRequest::Tune::Always; },
      "choose learning rates on other seeds before the race, where the matrix has no [[tune]]");
  app.add_flag_callback(
      "--decide", [&request] { request.until = matrix::MatrixRequest::Until::Decided; },
      "race seed after seed until it is decided who is first and who is slower, up to 28 seeds or "
      "--seeds; leave out cells whose place more runs cannot change");
  plan::add_value(app, "--precision", request.precision,
                  "with --decide: a cell needs no more runs once its ratio to the fastest is known "
                  "this precisely");
  plan::add_value(
      app, "--within", request.within,
      "time for it, such as 90s, 3min or 1h, with --decide; a run that would end later is not "
      "begun (default: as long as it takes)");
  app.add_flag_callback(
      "--draw", [&request] { request.figure = matrix::MatrixRequest::Figure::Growing; },
      "draw OUT/race.svg anew between runs, by plots/race.py, in at most a twentieth of the time");
}

struct CompareNames {
  std::string format = "text";
  std::string losses = "by_seed";
  std::string taken = "apart";
  std::string looks;
};

void declare_report(CLI::App& app, judge::ReportRequest& request, std::string& format) {
  app.add_option("folders", request.folders, "folders of records")->required();
  plan::add_value(
      app, "--out", request.out,
      "folder for index.html, judgement.json and figures (default: FOLDER/report; of several "
      "folders out/report)");
  plan::add_overwrite(app, request.if_there, "the page in --out");
  plan::add_value(app, "--format", format, "page, or json: the judgement on standard output")
      ->check(one_of("format", {"page", "json"}));
}

/// Valid range of the effect-size flags.
constexpr system::NumberRange<double> kEffects{
    .least = 0, .most = 10, .bound = system::NumberRange<double>::Least::Excluded};
constexpr system::NumberRange<double> kLevels{
    .least = 0, .most = 0.5, .bound = system::NumberRange<double>::Least::Excluded};

/// Parses ascending numbers of seeds: `3,5,8`.
std::vector<std::size_t> looks_in(const std::string& text) {
  system::NumberRange<std::uint64_t> seeds{.least = 1, .most = 1'000'000};
  std::vector<std::size_t> looks;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ','); seeds.least = looks.back() + 1) {
    looks.push_back(system::parse_number("--looks", word, seeds));
  }
  return looks;
}

void declare_compare(CLI::App& app, judge::CompareRequest& request, CompareNames& names) {
  plan::add_value(app, "base", request.base, "folder of the records to compare with")->required();
  plan::add_value(app, "head", request.head, "a folder of the runs to be judged")->required();
  plan::add_value(app, "--format", names.format, "text, markdown or json")
      ->check(one_of("format", {"text", "markdown", "json"}));
  plan::add_value(app, "--losses", names.losses,
                  "by_seed: a synchronous run whose first losses differ from those of its seed has "
                  "regressed; ignored: for a change that is meant to change them")
      ->check(one_of("losses", {"by_seed", "ignored"}));
  plan::add_value(app, "--taken", names.taken,
                  "apart: by seconds per example; in_turn: base and head ran one after the other, "
                  "seed by seed, so the median steps of pairs are compared")
      ->check(one_of("taken", {"apart", "in_turn"}));
  plan::add_value(app, "--looks", names.looks,
                  "ascending numbers of seeds after which you look at growing data, such as "
                  "3,5,8; each look spends an equal share of --alpha, and a row keeps the first "
                  "verdict that a look decides (default: once)");
  plan::add_value(app, "--speed-effect", request.options.speed_effect,
                  "change of the time per example, or of the median step, that matters, as a "
                  "fraction",
                  kEffects);
  plan::add_value(app, "--convergence-effect", request.options.convergence_effect,
                  "change of the examples to the target, or of the last loss, that matters, as a "
                  "fraction",
                  kEffects);
  plan::add_value(app, "--alpha", request.options.alpha, "level of all tests together", kLevels);
}

void declare_export(CLI::App& app, exports::ExportRequest& request) {
  std::vector<std::string> names;
  std::string help;
  for (const exports::ExportFormat& format : exports::all_export_formats()) {
    names.emplace_back(format.name);
    help +=
        (help.empty() ? "" : "; ") + std::string(format.name) + ": " + std::string(format.summary);
  }
  help += "; a placed step as chakra: regatta graph";
  plan::add_value(app, "folder", request.folder, "of the records")->required();
  plan::add_value(app, "--format", request.format, help)
      ->required()
      ->check(one_of("format", names));
  plan::add_value(app, "--out", request.out,
                  "file, or new folder where the format is several files (default: stdout)");
  plan::add_overwrite(app, request.if_there, "the file of --out");
  exports::Submission& submission = request.submission;
  plan::add_value(app, "--author", submission.author,
                  "who submits: DAWNBench's author, MLPerf's submission_org");
  plan::add_value(app, "--author-email", submission.author_email, "DAWNBench's authorEmail");
  plan::add_value(app, "--cost-per-hour", submission.cost_per_hour,
                  "of the machine, in US dollars: DAWNBench's costPerHour (default: none)",
                  system::NumberRange<double>{.least = 0});
}

void declare_calibrate(CLI::App& app, plan::RaceRequest& request,
                       simulate::CalibrateRequest& wanted) {
  plan::declare_cell(app, request);
  plan::declare_reach(app, request);
  plan::add_value(app, "--threads", wanted.threads, "of a worker's kernels",
                  system::NumberRange<std::int64_t>{.least = 1});
  plan::add_value(
      app, "--messages", wanted.messages,
      "an earlier calibration of this machine, whose messages and sums are taken: kernels "
      "alone are measured (default: none)");
  plan::add_data_dir(app, request.data_dir);
  app.add_flag_callback(
      "--plan", [&wanted] { wanted.cells = simulate::CalibrateRequest::Cells::Compared; },
      "measure all cells that regatta plan compares, in place of one --strategy");
  plan::add_value(app, "--out", wanted.out, "file");
  plan::add_overwrite(app, wanted.if_there, "the file of --out");
}

void declare_plan(CLI::App& app, Command& command) {
  plan::declare_cell(app, command.request);
  plan::add_value(app, "--cluster", command.request.cluster,
                  "TOML of hosts and links, as run has it, whose calibration is of regatta "
                  "calibrate --plan (default: none, and it is needed)");
  plan::add_value(
      app, "--memory", command.memory,
      "of a worker, such as 80GB; candidates that plan more are left out (default: no limit)");
  plan::add_data_dir(app, command.request.data_dir);
}

void declare_graph(CLI::App& app, Command& command, std::string& format) {
  plan::RaceRequest& request = command.request;
  plan::declare_cell(app, request);
  plan::add_value(
      app, "--format", format,
      "text; dot: Graphviz; chakra: execution traces of MLCommons Chakra for ASTRA-sim, a "
      "file for each process")
      ->check(one_of("format", {"text", "dot", "chakra"}));
  plan::add_value(app, "--out", command.traces,
                  "new folder for the files of chakra (default: none)");
  std::vector<std::string> passes;
  for (const strategies::StepPass& pass : strategies::all_passes()) passes.emplace_back(pass.name);
  command.after = passes.back();
  plan::add_value(app, "--after", command.after, "the pass behind which the graph is shown")
      ->check(one_of("pass", passes));
  app.add_flag_callback(
      "--passes", [&command] { command.shows = Command::GraphShows::Passes; },
      "the table of passes instead, each with its time, its graph and the reason for its position");
  plan::add_value(
      app, "--cluster", request.cluster,
      "TOML of a cluster, as run has it: kernels of chakra take the times of its calibration "
      "(default: their work and bytes only)");
}

constexpr const char* kRunExamples =
    R"(Examples:
  regatta run --workload parabola --strategy all_reduce --workers 2
  regatta run --workload resnet9_thin --strategy all_reduce --workers 2 \
      --processes 2
  regatta run --workload parabola --strategy async_shared --workers 2 \
      --straggler 1:3 --trace trace.json
What came of them: regatta report out)";

constexpr const char* kMatrixExamples =
    R"(Examples:
  regatta matrix --tier quick --dry-run
  regatta matrix --tier quick --within 3min --draw --out out/quick
  regatta matrix races.toml --seeds 5 --out out/mine
What tiers hold: regatta list tiers. What came of them: regatta report OUT)";

GraphFormat graph_format(const std::string& name) {
  if (name == "dot") return GraphFormat::Dot;
  return name == "chakra" ? GraphFormat::Chakra : GraphFormat::Text;
}

judge::CompareFormat compare_format(const std::string& name) {
  if (name == "markdown") return judge::CompareFormat::Markdown;
  return name == "json" ? judge::CompareFormat::Json : judge::CompareFormat::Text;
}

}  // namespace

const char* const kFirstCommands =
    R"(Regatta races parallel training strategies: the same model, the same data, the
same first weights. Only the strategy differs. To begin:

  regatta run --workload parabola --strategy all_reduce --workers 2
      one race; it takes a moment
  regatta matrix --tier quick --within 3min --out out/quick
      every strategy, in three minutes
  regatta report out/quick
      who came first, and why

What can race: regatta list. All commands: regatta --help.
)";

Command parse_command_line(int argc, const char* const* argv) {
  Command command;
  if (argc == 1) {
    command.kind = Command::Kind::Start;
    return command;
  }
  CLI::App app{"Regatta races parallel training strategies on identical workloads.", "regatta"};
  app.formatter(help_format());
  app.require_subcommand(1);
  app.set_version_flag(
      "--version", [] { return system::version_line(system::software_facts()); },
      "version, commit and libraries of this program");
  plan::RunTexts texts;
  std::string format = "text";

  CLI::App& run = *app.add_subcommand("run", "run one race and add its record to a folder");
  plan::declare_run(run, command.request, texts);
  run.footer(kRunExamples);
  CLI::App& matrix = *app.add_subcommand("matrix", "race many cells with several seeds each");
  declare_matrix(matrix, command.matrix);
  matrix.footer(kMatrixExamples);
  CLI::App& report =
      *app.add_subcommand("report", "figures and one page that says who came first, and why");
  std::string report_format = "page";
  declare_report(report, command.report, report_format);
  CLI::App& compare = *app.add_subcommand("compare", "a verdict for each cell of two folders");
  CompareNames compare_names;
  declare_compare(compare, command.compare, compare_names);
  CLI::App& exported = *app.add_subcommand("export", "records in the formats of others");
  declare_export(exported, command.exported);
  CLI::App& list = *app.add_subcommand("list", "what can race, and what this machine has");
  plan::add_value(list, "what", command.what, "workloads, strategies, tiers or devices")
      ->check(one_of("list", {"workloads", "strategies", "tiers", "devices"}));
  std::string list_format = "text";
  plan::add_value(list, "--format", list_format, "text or json")
      ->check(one_of("format", {"text", "json"}));
  CLI::App& graph = *app.add_subcommand("graph", "the rewritten graph, its bytes and messages");
  declare_graph(graph, command, format);
  CLI::App& calibrate = *app.add_subcommand(
      "calibrate", "what a cell's kernels and messages cost here, for run --cluster");
  declare_calibrate(calibrate, command.request, command.calibrate);
  CLI::App& planned = *app.add_subcommand(
      "plan", "the fastest strategies and degrees for a cluster, in virtual time");
  declare_plan(planned, command);
  CLI::App& dumped = *app.add_subcommand(
      "dump",
      "writes a workload for another program: weights, inputs, and the proof of equal work");
  plan::declare_dump(dumped, command.request);
  plan::add_value(dumped, "--out", command.dumped, "new or empty folder, or an earlier dump")
      ->required();
  CLI::App& doctor =
      *app.add_subcommand("doctor", "what is missing for which feature, and what fixes it");
  plan::add_data_dir(doctor, command.request.data_dir);
  doctor.add_flag("--roofline", command.roofline,
                  "only measure: products and memory of one core and of all");

  try {
    plan::parse_words(app, argc, argv);
    plan::complete(command.request, texts, argc, argv);
    command.out = texts.out;
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    return command;
  }
  command.format = graph_format(format);
  command.report.format =
      report_format == "json" ? judge::ReportFormat::Json : judge::ReportFormat::Page;
  command.list_format = list_format == "json" ? ListFormat::Json : ListFormat::Text;
  if (run.parsed()) command.kind = Command::Kind::Run;
  if (report.parsed()) command.kind = Command::Kind::Report;
  command.compare.format = compare_format(compare_names.format);
  if (compare_names.taken == "in_turn") command.compare.options.taken = judge::Taken::InTurn;
  if (compare_names.losses == "ignored") command.compare.options.losses = judge::LossPaths::Ignored;
  command.compare.options.looks = looks_in(compare_names.looks);
  if (compare.parsed()) command.kind = Command::Kind::Compare;
  if (exported.parsed()) command.kind = Command::Kind::Export;
  if (matrix.parsed()) command.kind = Command::Kind::Matrix;
  if (planned.parsed()) command.kind = Command::Kind::Plan;
  if (list.parsed()) command.kind = Command::Kind::List;
  if (graph.parsed()) command.kind = Command::Kind::Graph;
  if (calibrate.parsed()) command.kind = Command::Kind::Calibrate;
  if (dumped.parsed()) command.kind = Command::Kind::Dump;
  if (doctor.parsed()) command.kind = Command::Kind::Doctor;
  return command;
}

}  // namespace regatta::cli
