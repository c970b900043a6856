// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/race_flags.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "harness/plan/flag_errors.h"
#include "harness/plan/stragglers.h"
#include "kernels/graph/error.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

/// CLI11 reads -1 as the largest number there is, and takes what overflows for that, too.
std::string unsigned_error(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && rest == end) return "";
  return "'" + text + "' is not a whole number from 0 to 2^64 - 1";
}

/// Whose option it is stands before what it says.
void declare(CLI::App& app, const Option& option, OptionValues& given) {
  const std::string help = "for " + names_of_declarers(option) + ": " + std::string(option.help);
  const std::string name(option.name);
  const std::optional<OptionValue> usual = option.usual();
  const std::string text = usual ? help : help + " (default: none)";
  CLI::Option* flag =
      std::holds_alternative<Choice>(option.type)
          ? app.add_option_function<std::string>(
                option.flag(), [&given, name](const std::string& word) { given[name] = word; },
                text)
          : app.add_option_function<std::int64_t>(
                option.flag(), [&given, name](std::int64_t count) { given[name] = count; }, text);
  if (usual) flag->default_str(to_text(*usual));
}

}  // namespace

void declare_cell(CLI::App& app, RaceRequest& request) {
  app.add_option("--workload", request.workload, "what to train (regatta list workloads)")
      ->required();
  app.add_option("--strategy", request.strategy,
                 "how to train it in parallel (regatta list strategies); a+b applies a, then b")
      ->capture_default_str();
  app.add_option("--workers", request.workers,
                 "replicas, or stages of model_parallel, or both of a composition")
      ->capture_default_str();
  app.add_option(
      "--processes", request.processes,
      "processes that the workers are dealt to, started by mpirun; 1: all is in this one "
      "(default: 1; a worker each with parameter servers)");
  app.add_option("--stages", request.stages,
                 "stages of each replica in a composition with model_parallel")
      ->capture_default_str();
  for (const Option* option : all_options()) declare(app, *option, request.options);
  app.add_option("--global-batch", request.global_batch,
                 "examples in a step over all workers (default: the workload's)");
  app.add_option("--dtype", request.dtype, "element type of activations and weights: f32 or bf16")
      ->capture_default_str();
  app.add_option("--fusion", request.fusion,
                 "normalise, activate, pool and add in one op each: on or off")
      ->capture_default_str();
  app.add_option(
         "--winograd", request.winograd,
         "convolutions that gain by it on the CPU by Winograd's algorithm: on, off, or auto, "
         "which is on where there are any, but for bf16 where the processor has AMX")
      ->capture_default_str();
  app.add_option("--device", request.device, "what computes: cpu, or cuda (an NVIDIA GPU)")
      ->capture_default_str();
  app.add_option("--cuda-graph", request.cuda_graph,
                 "each step on a GPU as one launch: on, off, or auto, which is on where the host "
                 "has no part in a step")
      ->capture_default_str();
  app.add_option("--cudnn-engine", request.cudnn_engine,
                 "cuDNN's engine for each convolution on a GPU: timed, the fastest by trials "
                 "before the clock starts, or heuristic, the first that the library names, which "
                 "gives the same bits in every run (default: timed)");
  app.add_option("--epochs", request.epochs, "passes over the data (default: the workload's)");
  app.add_option("--steps", request.steps,
                 "length of the run in steps, instead of --epochs (default: --epochs)");
}

void declare_run(CLI::App& app, RaceRequest& request, RunTexts& texts) {
  declare_cell(app, request);
  app.add_option("--seed", request.seed, "of weights, order and augmentation")
      ->capture_default_str()
      ->check(CLI::Validator(unsigned_error, ""));
  app.add_option("--dataset", request.dataset, "cifar10, shapes, ... (default: the workload's)");
  app.add_option("--data-dir", request.data_dir, "folder of the CIFAR-10 binary files")
      ->capture_default_str();
  app.add_option("--target", request.target,
                 "value of the metric that has to be reached (default: the workload's)");
  app.add_option("--normalization-group", request.normalization_group,
                 "examples that are normalised together (default: the workload's)");
  app.add_option("--rate-scale", request.rate_scale, "multiplies the recipe's learning rate")
      ->capture_default_str();
  app.add_option("--threads", request.threads, "cores that the run owns; 0: all available")
      ->capture_default_str();
  app.add_option(
      "--straggler", texts.stragglers,
      "WORKER:FACTOR[,...]: multiplies a worker's compute time, such as 1:2.0 (default: none)");
  app.add_option(
      "--trace", request.trace,
      "file for a timeline in the Chrome trace format; over processes FILE.rank0 and so on, each "
      "with its own zero (default: none)");
  app.add_flag_callback(
      "--continue-on-loss", [&request] { request.on_loss = OnLoss::Continue; },
      "parameter_server_async, or parameter_server with backup workers, goes on without a worker's "
      "process that is lost");
  app.add_option("--hosts", request.hosts,
                 "Open MPI hostfile of the machines to run on (default: this one)");
  app.add_option("--listen", request.listen,
                 "address of this machine that ranks on others reach (default: loopback)");
  app.add_option("--tls", request.tls,
                 "folder of ca.pem, cert.pem and key.pem by which processes talk over TLS; what "
                 "Open MPI carries stays plain (default: no TLS)");
  app.add_option("--checkpoint-every", request.checkpoint_every,
                 "steps from one checkpoint to the next; the last is kept in "
                 "OUT/checkpoints/RUN_ID until the run has finished (default: none)");
  app.add_option("--resume", request.resume,
                 "a checkpoint, or its folder: the run goes on from there, with the flags that it "
                 "began with (default: none)");
  app.add_option("--out", texts.out, "folder whose records.jsonl the record is added to")
      ->capture_default_str();
}

void complete(RaceRequest& request, const RunTexts& texts, int argc, const char* const* argv) {
  request.stragglers = parse_stragglers(texts.stragglers);
  request.command = "regatta";
  for (int i = 1; i < argc; ++i) request.command += std::string(" ") + argv[i];
  request.arguments.assign(argv + 1, argv + argc);
  request.rank_logs = texts.out + "/ranks";
  request.checkpoints = texts.out + "/checkpoints";
}

RaceRequest parse_run(const std::vector<std::string>& arguments) {
  std::vector<const char*> words = {"regatta", "run"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  RaceRequest request;
  RunTexts texts;
  CLI::App app;
  declare_run(*app.add_subcommand("run"), request, texts);
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    throw RunError(ErrorKind::Usage, explain(app, error));
  }
  complete(request, texts, static_cast<int>(words.size()), words.data());
  return request;
}

std::vector<std::string> cell_flags() {
  // Of a seed, of a folder, or without a value.
  const std::vector<std::string> others = {
      "--help",  "--seed",   "--data-dir",         "--out",
      "--trace", "--resume", "--checkpoint-every", "--continue-on-loss"};
  CLI::App app;
  RaceRequest request;
  RunTexts texts;
  declare_run(app, request, texts);
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (std::find(others.begin(), others.end(), name) == others.end()) flags.push_back(name);
  }
  return flags;
}

}  // namespace regatta
