// SPDX-License-Identifier: Apache-2.0
//
// Tests steps that are recorded once and launched as one, on a device with queues of functions.
// Only recorded waits order these (function_recording_for_test.h), so results match the CPU bit for
// bit only if lanes fork, wait and join correctly and the recording holds no value of a single
// step.
#include "kernels/runtime/capture/captured_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "kernels/base/error_for_test.h"
#include "kernels/graph/node_steps.h"
#include "kernels/runtime/capture/queued_exchange.h"
#include "kernels/runtime/deferred_for_test.h"
#include "kernels/runtime/test_support.h"
#include "strategies/curve_by_adam_for_test.h"
#include "strategies/test_support.h"

namespace regatta {
namespace {

using namespace testing_support;

using Calls = std::vector<std::string>;

/// Runs work at once unless it is recorded. A wait calls `look` three times, then is over.
class Queue final : public testing_support::DeferringQueue {
 public:
  explicit Queue(Calls& calls) : calls_(calls) {}
  void finish() override { calls_.emplace_back("finish"); }
  void finish_while(const std::function<void()>& look) override {
    for (int i = 0; i < 3; ++i) look();
    finish();
  }

 private:
  void start(std::function<void()> work) override {
    calls_.emplace_back("kernel");
    work();
  }
  Calls& calls_;
};

/// Logs its launches and its destruction.
class NotedStep final : public RecordedStep {
 public:
  NotedStep(std::unique_ptr<RecordedStep> step, Calls& calls)
      : step_(std::move(step)), calls_(calls) {}
  ~NotedStep() override { calls_.emplace_back("destroy"); }
  void launch() override {
    calls_.emplace_back("launch");
    step_->launch();
  }

 private:
  std::unique_ptr<RecordedStep> step_;
  Calls& calls_;
};

class NotedRecorder final : public StepRecorder {
 public:
  explicit NotedRecorder(Calls& calls) : calls_(calls) {}
  void begin(std::span<LaneQueue* const> queues) override { recorder_->begin(queues); }
  Mark mark(std::size_t queue) override { return recorder_->mark(queue); }
  void wait(std::size_t queue, Mark mark) override { recorder_->wait(queue, mark); }
  void look() override {}
  std::unique_ptr<RecordedStep> end() override {
    calls_.emplace_back("record");
    return std::make_unique<NotedStep>(recorder_->end(), calls_);
  }

 private:
  std::unique_ptr<StepRecorder> recorder_ = make_function_recorder();
  Calls& calls_;
};

class RecordingDevice final : public Device {
 public:
  void* allocate(std::int64_t bytes) override { return cpu_device().allocate(bytes); }
  void release(void* memory) noexcept override { cpu_device().release(memory); }
  bool has_queues() const override { return true; }
  std::unique_ptr<LaneQueue> make_queue() override { return std::make_unique<Queue>(calls_); }
  std::unique_ptr<StepRecorder> make_recorder() override {
    return std::make_unique<NotedRecorder>(calls_);
  }
  Calls& calls() { return calls_; }

 private:
  Calls calls_;
};

/// Called with the placed step and its kernel table before the run; may change both.
using Change = std::function<void(Step&, KernelTable&, Calls&)>;

/// A step with the CPU's kernels on that device, recorded; the host communicates.
class CapturedRun {
 public:
  CapturedRun(const Step& step, const DataSet& data, const TrialOptions& run,
              const Change& change = {})
      : examples_(run.steps * step.global_batch), trial_(step, data, recorded(run, change)) {}
  void run() { trial_.executor().run(examples_); }
  Executor& executor() { return trial_.executor(); }
  Trial& trial() { return trial_; }
  Calls& calls() { return device_.calls(); }

 private:
  TrialOptions recorded(TrialOptions options, const Change& change) {
    options.most_steps = std::exchange(options.steps, 0);
    options.device = &device_;
    options.add_kernels = [](KernelTable& kernels) {
      add_cpu_kernels(kernels);
      testing_support::defer_kernels(kernels);
    };
    options.change = [this, change](Step& part, KernelTable& kernels) {
      if (change) change(part, kernels, device_.calls());
    };
    options.launch = LaunchSteps::AsOne;
    return options;
  }

  std::int64_t examples_;
  RecordingDevice device_;
  Trial trial_;
};

TrialOptions of(const std::string& strategy, std::int64_t steps) {
  TrialOptions options;
  options.strategy = strategy;
  options.steps = steps;
  options.options.replicas = strategy == "single" || strategy == "model_parallel" ? 1 : 3;
  options.options.stages = strategy == "model_parallel" ? 2 : 1;
  return options;
}

void expect_the_bits_of_the_cpu(const Step& step, const DataSet& data,
                                const TrialOptions& options) {
  Trial on_cpu(step, data, options);
  CapturedRun captured(step, data, options);
  captured.run();
  EXPECT_EQ(captured.trial().losses(), on_cpu.losses()) << options.strategy;
  EXPECT_EQ(captured.trial().parameters(), on_cpu.parameters()) << options.strategy;
}

TEST(CapturedLoop, GivesTheBitsOfKernelsThatRunOneByOne) {
  for (const char* strategy : {"single", "in_graph", "central_storage", "model_parallel"}) {
    expect_the_bits_of_the_cpu(parabola(20), curve(), of(strategy, 20));
  }
}

/// Large activations and gradients have a lane of their own beside their stage's.
TEST(CapturedLoop, GivesThemWhereMessagesHaveLanesOfTheirOwn) {
  expect_the_bits_of_the_cpu(thin(64, 2), shapes(), of("model_parallel", 2));
}

TEST(CapturedLoop, RecordsEachLoopForItself) {
  CapturedRun captured(parabola(4), curve(), of("independent", 4));
  EXPECT_EQ(captured.calls(), Calls(3, "record"));
}

TEST(CapturedLoop, LaunchesWhatWasRecordedAndNothingElse) {
  CapturedRun captured(parabola(3), curve(), of("in_graph", 3));
  captured.run();
  EXPECT_EQ(captured.calls(),
            (Calls{"record", "launch", "finish", "launch", "finish", "launch", "finish"}));
}

TEST(CapturedLoop, CountsStepsAndTheirTimeForEveryWorker) {
  CapturedRun captured(parabola(5), curve(), of("in_graph", 5));
  captured.run();
  const auto workers = captured.executor().workers();
  ASSERT_EQ(workers.size(), 3U);
  for (const WorkerReport& worker : workers) {
    EXPECT_EQ(worker.steps, 5);
    EXPECT_GT(worker.compute_ns, 0);
    EXPECT_LE(worker.compute_ns, worker.total_ns);
    EXPECT_EQ(worker.wait_ns + worker.exposed_communication_ns + worker.update_ns, 0);
  }
}

/// The updates expire after two steps.
TEST(CapturedLoop, IsRecordedAnewForTheStepsInWhichANodeHasExpired) {
  const auto expire = [](Step& part, KernelTable&, Calls&) {
    Graph changed;
    changed.copy_variables_of(part.graph);
    for (Node node : part.graph.nodes()) {
      if (node.op == Op::Sgd) set_until(node.attributes, 2 * 50);
      changed.add(std::move(node));
    }
    part.graph = changed;
  };
  const TrialOptions options = of("single", 5);
  CapturedRun captured(parabola(5), curve(), options, expire);
  EXPECT_EQ(captured.calls(), Calls(2, "record"));
  captured.run();
  const std::vector<float> losses = captured.trial().losses();
  const std::vector<float> all = Trial(parabola(5), curve(), options).losses();
  EXPECT_EQ(std::vector(losses.begin(), losses.begin() + 3),
            std::vector(all.begin(), all.begin() + 3));
  EXPECT_NE(losses[2], losses[1]);
  EXPECT_EQ(losses[3], losses[2]);  // the weights stay as they are
  EXPECT_EQ(losses[4], losses[2]);
}

TEST(CapturedLoop, LeavesOutOfAStepWhatRestsInIt) {
  const Step step = curve_by_adam(
      50, LookaheadOptions{.period = 2, .global_batch = 50, .decay = Schedule::constant(0.5)});
  std::int64_t looks_ahead = 0;
  const auto count = [&](Step&, KernelTable& kernels, Calls&) {
    kernels.add(Op::Lookahead, [&, build = kernels.factory(Op::Lookahead)](const KernelRequest& r) {
      return make_kernel([&, kernel = std::shared_ptr(build(r))](const StepContext& context) {
        ++looks_ahead;
        kernel->run(context);
      });
    });
  };
  const TrialOptions options = of("single", 5);
  CapturedRun captured(step, curve(), options, count);
  EXPECT_EQ(captured.calls(), Calls(2, "record"));
  captured.run();
  EXPECT_EQ(captured.trial().losses(), Trial(step, curve(), options).losses());
  EXPECT_EQ(looks_ahead, std::ssize(step.trainables));  // in one of the two recordings
}

/// Lookahead of statistics, which loops do not share, rests with that of shared parameters.
TEST(CapturedLoop, LeavesOutAllLookaheadAtOnceWhereLoopsStepApart) {
  TrialOptions options = of("async_shared", 8);  // lookahead is due after five of them
  options.options.replicas = 1;
  const Step step = testing_support::training_of("airbench94_narrow", 32, 8);
  CapturedRun captured(step, shapes(), options);
  captured.run();
  const std::vector<float> losses = captured.trial().losses();
  EXPECT_EQ(losses, Trial(step, shapes(), options).losses());
}

TEST(CapturedLoop, SaysWhichOpIsTheHostsWork) {
  const std::string text =
      error_of([] { const CapturedRun captured(parabola(1), curve(), of("all_reduce", 1)); });
  EXPECT_EQ(text.find("a step cannot be captured because of all_reduce of "), 0U) << text;
  EXPECT_NE(text.find(" on replica0: it is the host's work"), std::string::npos) << text;
}

TEST(CapturedLoop, SaysAtWhichOpTheDeviceFailed) {
  const auto fail_in_tanh = [](Step&, KernelTable& kernels, Calls&) {
    kernels.add(Op::Tanh, [](const KernelRequest&) {
      return make_kernel([](const StepContext&) { throw RunError(ErrorKind::Device, "no room"); });
    });
  };
  const std::string text = error_of(
      [&] { const CapturedRun captured(parabola(1), curve(), of("single", 1), fail_in_tanh); });
  EXPECT_EQ(text.find("a step cannot be captured because of tanh of "), 0U) << text;
  EXPECT_NE(text.find("on replica0: no room"), std::string::npos) << text;
}

TEST(CapturedLoop, OfADivergedRunSaysHowToFindOutMore) {
  DataSet broken = curve();
  broken.targets.as<float>()[7] = 3e38F;  // its square is not finite
  CapturedRun captured(parabola(2), broken, of("single", 2));
  const std::string text = error_of([&] { captured.run(); });
  EXPECT_EQ(text.find("the loss is not finite at step 0 on replica0; "), 0U) << text;
  EXPECT_NE(text.find("--cuda-graph off"), std::string::npos) << text;
}

/// Replaces a sum between GPUs; loses its peer in the second step.
class LosesItsPeer final : public Kernel, public QueuedExchange {
 public:
  explicit LosesItsPeer(Calls& calls) : calls_(calls) {}
  void run(const StepContext&) override { FAIL() << "it is part of a recorded step"; }
  QueuedExchange* queued_exchange() override { return this; }
  void enqueue() override { calls_.emplace_back("enqueue"); }
  bool awaits_others() const override { return true; }
  void look(std::int64_t waited_ns) override {
    EXPECT_GE(waited_ns, 0);
    if (steps_ == 1) throw RunError(ErrorKind::PeerLost, "rank 1 is gone");
  }
  void count_step() override { ++steps_; }
  void give_up() noexcept override { calls_.emplace_back("give up"); }

 private:
  Calls& calls_;
  int steps_ = 0;
};

Change sum_by(std::function<std::unique_ptr<Kernel>(Calls&)> make) {
  return [make](Step&, KernelTable& kernels, Calls& calls) {
    kernels.add(Op::AllReduce, [make, &calls](const KernelRequest&) { return make(calls); });
  };
}

TrialOptions one_member(std::int64_t steps) {
  TrialOptions options = of("all_reduce", steps);
  options.options.replicas = 1;
  return options;
}

TEST(CapturedLoop, LetsWhatItRecordedGoBeforeAnExchangeThatWillNotEndGivesUp) {
  CapturedRun captured(parabola(4), curve(), one_member(4),
                       sum_by([](Calls& calls) { return std::make_unique<LosesItsPeer>(calls); }));
  EXPECT_EQ(error_of([&] { captured.run(); }), "step 1 on replica0: rank 1 is gone");
  EXPECT_EQ(captured.calls(), (Calls{"enqueue", "record", "launch", "finish", "launch", "destroy",
                                     "give up", "finish"}));
}

/// Waits for its peers until the run is interrupted.
class WaitsInVain final : public Kernel, public QueuedExchange {
 public:
  explicit WaitsInVain(std::function<void()> waits) : waits_(std::move(waits)) {}
  void run(const StepContext&) override {}
  QueuedExchange* queued_exchange() override { return this; }
  void enqueue() override {}
  void count_step() override {}
  bool awaits_others() const override { return true; }
  void look(std::int64_t) override { waits_(); }

 private:
  std::function<void()> waits_;
};

TEST(CapturedLoop, EndsAWaitForOthersWhenTheRunIsInterrupted) {
  std::function<void()> interrupt;
  int looks = 0;
  const auto wait = [&] {
    ++looks;
    interrupt();
  };
  CapturedRun captured(parabola(4), curve(), one_member(4),
                       sum_by([&](Calls&) { return std::make_unique<WaitsInVain>(wait); }));
  interrupt = [&] { captured.executor().interrupt({ErrorKind::PeerLost, "somebody is lost"}); };
  EXPECT_EQ(error_of([&] { captured.run(); }), "somebody is lost");
  EXPECT_EQ(looks, 1);  // the next look sees that the run is over
  EXPECT_EQ(std::count(captured.calls().begin(), captured.calls().end(), "launch"), 1);
}

}  // namespace
}  // namespace regatta
