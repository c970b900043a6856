// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/program_flags.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "harness/plan/flag_values.h"
#include "harness/system/command_text.h"
#include "kernels/base/error.h"
#include "kernels/base/names.h"
#include "strategies/strategy.h"
#include "workloads/workload.h"

namespace regatta::plan {
namespace {

/// The flags that only programs have; all flags that a program may have; those for a claimed
/// workload.
const std::vector<std::string> kOnlyOfPrograms = {"--program-name", "--workload-name", "--metric",
                                                  "--work", "--silence"};
const std::vector<std::string> kOfPrograms = {
    "--program", "--program-name", "--workload-name", "--metric",  "--silence",
    "--target",  "--strategy",     "--workers",       "--cores",   "--seed",
    "--seeds",   "--round",        "--out",           "--data-dir"};
const std::vector<std::string> kOfClaims = {"--workload",
                                            "--work",
                                            "--dtype",
                                            "--dataset",
                                            "--data",
                                            "--steps",
                                            "--epochs",
                                            "--global-batch",
                                            "--evaluate",
                                            "--rate-scale",
                                            "--normalization-group"};

[[noreturn]] void refuse(const std::string& text) { throw RunError(ErrorKind::Usage, text); }

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_of_workloads(const std::string& flag) {
  const auto options = workloads::all_options();
  return std::any_of(options.begin(), options.end(),
                     [&](const Option* each) { return each->flag() == flag; });
}

/// Checks a name that becomes a part of a strategy's name, of keys and of tables.
void require_name(const std::string& flag, const std::string& name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  constexpr std::size_t kMostLetters = 40;
  if (!name.empty() && name.size() <= kMostLetters && name.find_first_not_of(kLetters) == name.npos)
    return;
  refuse(flag + " '" + name + "' is not a name; fix: up to 40 letters, digits and _ . -");
}

/// The first word with an extension of letters, such as train.py, else the first word; without
/// folder and extension.
std::string script_name(const std::string& command) {
  const std::vector<std::string> words = system::words_of(command);
  if (words.empty()) return "";
  const auto is_script = [](const std::string& word) {
    const std::string ending = std::filesystem::path(word).extension();
    return ending.size() > 1 && ending.size() < 5 &&
           std::all_of(ending.begin() + 1, ending.end(),
                       [](char c) { return c >= 'a' && c <= 'z'; });
  };
  const auto found = std::find_if(words.begin(), words.end(), is_script);
  return std::filesystem::path(found == words.end() ? words.front() : *found).stem();
}

void complete_own_task(RaceRequest& request) {
  const ProgramRequest& program = request.program;
  require_name("--workload-name", program.workload_name);
  const auto& all = workloads::all_workloads();
  if (std::any_of(all.begin(), all.end(), [&](const workloads::Workload& each) {
        return each.name == program.workload_name;
      })) {
    refuse("--workload-name " + program.workload_name +
           " is a workload of Regatta; fix: --workload, which claims it, or another name");
  }
  if (!request.target || program.metric.empty())
    refuse("--workload-name needs --metric, accuracy or loss, and a --target of it");
  const std::vector<std::string> metrics = {"accuracy", "loss"};
  if (!is_in(metrics, program.metric)) throw unknown_name("metric", program.metric, metrics);
  request.workload = program.workload_name;
}

/// Checks a parsed command line. Throws: RunError(Usage), CLI::RequiredError.
void complete_program(const CLI::App& app, RaceRequest& request) {
  ProgramRequest& program = request.program;
  const auto is_given = [&](const std::string& flag) { return app.get_option(flag)->count() > 0; };
  const bool claims = is_given("--workload");
  if (program.command.empty()) {
    for (const std::string& flag : kOnlyOfPrograms) {
      if (is_given(flag))
        refuse(flag + " is of another program; fix: name it by --program 'COMMAND'");
    }
    if (!claims) throw CLI::RequiredError("--workload");
    return;
  }
  if (claims == is_given("--workload-name")) {
    refuse(
        "--program needs either --workload, which it claims to train as Regatta does, or "
        "--workload-name, a task of its own");
  }
  if (claims && is_given("--metric"))
    refuse("--metric is of --workload-name; a --workload has its own");
  for (const CLI::Option* option : app.get_options()) {
    const std::string flag = option->get_name();
    if (option->count() == 0 || is_in(kOfPrograms, flag)) continue;
    if (claims && (is_in(kOfClaims, flag) || is_of_workloads(flag))) continue;
    const std::string whose = is_in(kOfClaims, flag) || is_of_workloads(flag)
                                  ? "a --workload that a program claims"
                                  : "Regatta's own runs";
    refuse(flag + " is of " + whose +
           ", not of this --program; fix: leave it out, or put it into "
           "the program's command");
  }
  if (program.name.empty()) program.name = script_name(program.command);
  require_name("--program-name", program.name);
  if (is_given("--strategy")) {
    program.strategy = request.strategy;
    std::string name = request.strategy;  // or a composition, such as all_reduce+powersgd
    std::replace(name.begin(), name.end(), '+', '_');
    require_name("--strategy of a program", name);
  }
  request.strategy = contestant_name(program);
  const auto own = strategies::all_strategies();
  if (std::any_of(own.begin(), own.end(), [&](const strategies::Strategy* each) {
        return each->name == request.strategy;
      })) {
    refuse("--program-name " + program.name +
           " is a strategy of Regatta; fix: another name, and --strategy " + program.name);
  }
  if (!claims) complete_own_task(request);
}

}  // namespace

void declare_program(CLI::App& app, RaceRequest& request) {
  app.option_defaults()->group("Other programs");
  ProgramRequest& program = request.program;
  add_value(app, "--program", program.command,
            "command that trains instead of Regatta, and tells of it by lines "
            "(harness/contender/README.md); {seed} {workers} {threads} {out} {work} are put in "
            "(default: none)");
  add_value(app, "--program-name", program.name, "for tables (default: that of its script)");
  add_value(app, "--workload-name", program.workload_name,
            "name of the program's own task; --workload instead claims one of Regatta's, and "
            "proves it (default: none)");
  add_value(app, "--metric", program.metric,
            "of --workload-name: accuracy in percent, or loss (default: none)");
  add_value(app, "--work", program.work,
            "folder of regatta dump for a claimed workload (default: one is made, and removed)");
  add_value(app, "--silence", program.silence,
            "seconds without an event after which the program has failed",
            system::NumberRange<double>{
                .least = 0, .most = 1e6, .bound = system::NumberRange<double>::Least::Excluded});
  app.get_option("--workload")
      ->required(false)
      ->description(
          "what to train (regatta list workloads); only a program with --workload-name "
          "needs none (default: none)");
  app.final_callback([&app, &request] { complete_program(app, request); });
}

std::string contestant_name(const ProgramRequest& program) {
  const std::string name = program.name.empty() ? script_name(program.command) : program.name;
  return program.strategy ? name + ' ' + *program.strategy : name;
}

}  // namespace regatta::plan
