// SPDX-License-Identifier: Apache-2.0
#include "harness/timed_kernels_bench.h"

#include "kernels/runtime/clock.h"

namespace regatta {
namespace {

class TimedKernel final : public Kernel {
 public:
  TimedKernel(std::unique_ptr<Kernel> inner, TimedKernels::NodeTimes& times)
      : inner_(std::move(inner)), times_(times) {}

  void run(const StepContext& context) override {
    const std::uint64_t begin = ticks();
    inner_->run(context);
    const auto step = static_cast<std::size_t>(context.step);
    if (step < times_.ticks.size()) times_.ticks[step] = ticks() - begin;
  }

 private:
  std::unique_ptr<Kernel> inner_;
  TimedKernels::NodeTimes& times_;
};

}  // namespace

TimedKernels::TimedKernels(const KernelTable& inner, std::int64_t steps)
    : inner_(inner), steps_(static_cast<std::size_t>(steps)), table_("cpu") {
  for (const OpInfo& info : all_ops()) {
    if (!inner.has(info.op)) continue;
    table_.add(info.op, [this](const KernelRequest& request) { return build(request); });
  }
}

std::unique_ptr<Kernel> TimedKernels::build(const KernelRequest& request) {
  NodeTimes& times = nodes_.emplace_back();
  times.op = request.node.op;
  times.ticks.resize(steps_);
  return std::make_unique<TimedKernel>(inner_.build(request), times);
}

}  // namespace regatta
