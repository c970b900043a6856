// SPDX-License-Identifier: Apache-2.0
#include "harness/run/timed_kernels.h"

#include <span>

#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::run {
namespace {

class TimedKernel final : public ChosenKernel {
 public:
  TimedKernel(std::unique_ptr<Kernel> inner, TimedKernels::NodeTimes& times)
      : inner_(std::move(inner)), times_(times) {}

  void run(const StepContext& context) override {
    if (times_.head != nullptr) return;
    const auto step = static_cast<std::size_t>(context.step);
    if (times_.queue == nullptr) return run_at_once(context, step);
    if (step >= times_.marks.size()) return inner_->run(context);
    TimedKernels::Marks& marks = times_.marks[step];
    marks.begin->put();
    inner_->run(context);
    marks.end->put();
    marks.ran = true;
  }
  QueuedExchange* queued_exchange() override { return inner_->queued_exchange(); }
  bool merges_with(const Kernel& other) const override {
    const auto* timed = dynamic_cast<const TimedKernel*>(&other);  // an Occasional never merges
    return timed != nullptr && inner_->merges_with(*timed->inner_);
  }
  void take_over(std::span<Kernel* const> others) override {
    std::vector<Kernel*> inner;
    for (Kernel* other : others) {
      auto& timed = dynamic_cast<TimedKernel&>(*other);
      inner.push_back(timed.inner_.get());
      timed.times_.head = &times_;
    }
    inner_->take_over(inner);
  }
  std::string choice() const override { return times_.choice; }

 private:
  void run_at_once(const StepContext& context, std::size_t step) {
    const std::uint64_t begin = ticks();
    inner_->run(context);
    if (step < times_.ticks.size()) times_.ticks[step] = ticks() - begin;
  }

  std::unique_ptr<Kernel> inner_;
  TimedKernels::NodeTimes& times_;
};

}  // namespace

TimedKernels::TimedKernels(const KernelTable& inner, const std::string& device, std::int64_t steps)
    : inner_(inner), steps_(static_cast<std::size_t>(steps)), table_(device) {
  for (const OpInfo& info : all_ops()) {
    if (!inner.has(info.op)) continue;
    table_.add(info.op, [this](const KernelRequest& request) { return build(request); });
  }
}

std::unique_ptr<Kernel> TimedKernels::build(const KernelRequest& request) {
  std::unique_ptr<Kernel> inner = inner_.build(request);
  NodeTimes& times = nodes_.emplace_back();
  times.id = request.id;
  times.op = request.node.op;
  times.choice = choice_of(*inner);
  times.queue = request.queue;
  if (request.queue == nullptr) {
    times.ticks.resize(steps_);
  } else {
    times.marks.resize(steps_);
    for (Marks& marks : times.marks) {
      marks.begin = request.queue->make_mark();
      marks.end = request.queue->make_mark();
    }
  }
  return std::make_unique<TimedKernel>(std::move(inner), times);
}

}  // namespace regatta::run
