// SPDX-License-Identifier: Apache-2.0
//
// Measures steps of one parameter server and its workers, each in its own process on loopback. The
// model of 7.9 MB (4 layers of 700 by 700) computes almost nothing, so a step is communication and
// the server's work. Prints the median time of a step and the server's CPU time per step. The last
// worker takes SLOWNESS times as long to compute.
//   server_step_bench [WORKERS [STEPS [SLOWNESS]]]
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/comm/grpc/grpc_exchange.h"
#include "kernels/runtime/measure/clock.h"
#include "strategies/cluster_for_test.h"
#include "workloads/model.h"

extern char** environ;

namespace regatta {
namespace {

using testing_support::data_of;
using testing_support::executor_options;
using testing_support::servers_and_workers;
using testing_support::TrialOptions;

constexpr std::int64_t kWidth = 700;
constexpr int kLayers = 4;
constexpr std::int64_t kWarmUp = 5;

void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(1);
}

Step training(std::int64_t batch) {
  const Initializer normal{.kind = Initializer::Kind::Normal, .scale = 0.03, .source = {}};
  Model model(Mode::Training);
  model.layer("input");
  const std::vector<Value> points = model.builder().input_features(model.whole(batch), 1, 1);
  Value x = points[0];
  for (int layer = 0; layer <= kLayers; ++layer) {
    model.layer("hidden" + std::to_string(layer));
    x = model.builder().tanh(model.bias(model.dense(x, kWidth, normal)));
  }
  model.layer("output");
  const Value prediction = model.bias(model.dense(x, 1, normal));
  model.layer("loss");
  const Value loss = model.builder().mean_squared_error(prediction, points[1], batch);
  SgdOptions sgd;
  sgd.rate = Schedule::constant(1e-3);
  return model.finish_training(
      loss, {.optimizer = [sgd](const std::string&) { return sgd; }, .global_batch = batch});
}

struct Run {
  std::int64_t workers = 4;
  std::int64_t steps = 100;
  double slowness = 1;  ///< factor for the last worker
};

/// One process's part of the run: process 0 serves, the others are the workers.
class Part {
 public:
  Part(int process, const Run& run)
      : batch_(run.workers),
        most_examples_((kWarmUp + run.steps) * batch_),
        exchange_({.run = {.run_id = std::string(32, '7'), .token = std::string(64, 'c')},
                   .process = process,
                   .processes = static_cast<int>(run.workers) + 1}) {
    run_.strategy = "parameter_server";
    run_.options.replicas = run.workers;
    if (process == run.workers) run_.stragglers[0] = run.slowness;
    const Step placed = apply(find_strategies(run_.strategy), training(batch_), run_.options);
    const auto bound = servers_and_workers(1, static_cast<int>(run.workers), run.workers);
    part_ = partition(placed, bound).at(static_cast<std::size_t>(process));
  }

  GrpcExchange& exchange() { return exchange_; }
  void build() {
    add_cpu_kernels(kernels_);
    transport_.add_kernels(kernels_);
    exchange_.add_kernels(kernels_);
    executor_ = std::make_unique<Executor>(
        part_, kernels_, executor_options(data_of("parabola"), run_, most_examples_));
  }
  void run_to(std::int64_t steps) { executor_->run(steps * batch_); }
  Executor& executor() { return *executor_; }

 private:
  std::int64_t batch_;
  std::int64_t most_examples_;
  TrialOptions run_;
  GrpcExchange exchange_;
  Step part_;
  KernelTable kernels_{"cpu"};
  InProcessTransport transport_;
  std::unique_ptr<Executor> executor_;
};

/// Writes a byte to its output when it is built, and starts when it reads a byte from its input.
void work(int process, const std::string& address, const Run& run) {
  Part part(process, run);
  part.exchange().connect(0, address);
  part.build();
  char byte = 'b';
  require(write(STDOUT_FILENO, &byte, 1) == 1, "write");
  require(read(STDIN_FILENO, &byte, 1) == 1, "read");
  part.run_to(kWarmUp);
  part.run_to(kWarmUp + run.steps);
}

/// Runs this program again, as a worker.
struct Worker {
  Worker(int process, const std::string& address, const Run& run) {
    int to[2], from[2];
    require(pipe(to) == 0 && pipe(from) == 0, "pipe");
    std::vector<std::string> texts = {"/proc/self/exe",          std::to_string(run.workers),
                                      std::to_string(run.steps), std::to_string(run.slowness),
                                      std::to_string(process),   address};
    std::vector<char*> arguments;
    for (std::string& text : texts) arguments.push_back(text.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    const int failed =
        posix_spawn(&pid, texts[0].c_str(), &actions, nullptr, arguments.data(), environ);
    require(failed == 0, "spawn");
    close(to[0]);
    close(from[1]);
    input = to[1];
    output = from[0];
  }
  pid_t pid = 0;
  int input = -1;
  int output = -1;
};

double processor_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

void serve(const Run& run) {
  Part part(0, run);
  const std::string address = part.exchange().serve();
  std::vector<Worker> others;
  for (int w = 1; w <= static_cast<int>(run.workers); ++w) others.emplace_back(w, address, run);
  part.build();
  char byte = 0;
  for (const Worker& worker : others) require(read(worker.output, &byte, 1) == 1, "read");
  for (const Worker& worker : others) require(write(worker.input, &byte, 1) == 1, "write");
  part.run_to(kWarmUp);
  const double before = processor_ms();
  part.run_to(kWarmUp + run.steps);
  const double spent = (processor_ms() - before) / static_cast<double>(run.steps);
  std::vector<std::uint64_t> ticks = part.executor().loops().at(0).step_ticks;
  ticks.erase(ticks.begin(), ticks.begin() + kWarmUp);
  std::sort(ticks.begin(), ticks.end());
  const double median = static_cast<double>(ticks_to_ns(ticks[ticks.size() / 2])) / 1e6;
  std::printf(
      "%lld workers, the last %g times slower: %.2f ms a step (median of %lld), server's "
      "processor time %.2f ms\n",
      static_cast<long long>(run.workers), run.slowness, median, static_cast<long long>(run.steps),
      spent);
  for (const Worker& worker : others) waitpid(worker.pid, nullptr, 0);
}

int main_of(int argc, char** argv) {
  Run run;
  if (argc > 1) run.workers = std::atoll(argv[1]);
  if (argc > 2) run.steps = std::atoll(argv[2]);
  if (argc > 3) run.slowness = std::atof(argv[3]);
  require(run.workers > 0 && run.steps > 0, "server_step_bench [WORKERS [STEPS [SLOWNESS]]]");
  if (argc > 5) {
    work(std::atoi(argv[4]), argv[5], run);
  } else {
    serve(run);
  }
  return 0;
}

}  // namespace
}  // namespace regatta

int main(int argc, char** argv) { return regatta::main_of(argc, argv); }
