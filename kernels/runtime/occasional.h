// SPDX-License-Identifier: Apache-2.0
//
// A kernel that skips the steps in which its node does not run (kernels/graph/node_steps.h). When a
// step is recorded (capture/), run_at_any_step() puts the kernel into a recording in whichever step
// the recording is made.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/graph/node_steps.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/step_moment.h"

namespace regatta {

class Occasional final : public Kernel {
 public:
  Occasional(std::unique_ptr<Kernel> kernel, const NodeSteps& steps)
      : kernel_(std::move(kernel)), steps_(steps) {}

  void run(const StepContext& context) override {
    if (is_due(context)) kernel_->run(context);
  }
  void run_at_any_step(const StepContext& context) { kernel_->run(context); }
  bool is_due(const StepContext& context) const { return steps_.is_due(step_moment_of(context)); }
  const NodeSteps& steps() const { return steps_; }

  Occasional* occasional() override { return this; }
  QueuedExchange* queued_exchange() override { return kernel_->queued_exchange(); }
  bool merges_with(const Kernel& other) const override {
    const auto* occasional = dynamic_cast<const Occasional*>(&other);
    return occasional != nullptr && occasional->steps_ == steps_ &&
           kernel_->merges_with(*occasional->kernel_);
  }
  void take_over(std::span<Kernel* const> others) override {
    std::vector<Kernel*> inner;
    for (Kernel* other : others) inner.push_back(dynamic_cast<Occasional&>(*other).kernel_.get());
    kernel_->take_over(inner);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  NodeSteps steps_;
};

/// Wraps the kernel so that it runs only in `steps`; returns it unchanged if these are all steps.
inline std::unique_ptr<Kernel> in_its_steps(std::unique_ptr<Kernel> kernel,
                                            const NodeSteps& steps) {
  if (steps.is_every_step()) return kernel;
  return std::make_unique<Occasional>(std::move(kernel), steps);
}

}  // namespace regatta
