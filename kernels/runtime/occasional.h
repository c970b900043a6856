// SPDX-License-Identifier: Apache-2.0
//
// A kernel that is skipped in some steps: those that begin at or after its expiry, a count of
// examples seen (kernels/graph/expiry.h), and those outside its period (kernels/graph/period.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/graph/period.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class Occasional final : public Kernel {
 public:
  Occasional(std::unique_ptr<Kernel> kernel, std::int64_t expiry, const Period& period)
      : kernel_(std::move(kernel)), expiry_(expiry), period_(period) {}
  void run(const StepContext& context) override {
    if (context.examples < expiry_ && period_.is_due(context.step)) kernel_->run(context);
  }
  QueuedExchange* queued_exchange() override { return kernel_->queued_exchange(); }
  const Resting* resting() const override { return kernel_->resting(); }
  bool merges_with(const Kernel& other) const override {
    const auto* occasional = dynamic_cast<const Occasional*>(&other);
    return occasional != nullptr && occasional->expiry_ == expiry_ &&
           occasional->period_ == period_ && kernel_->merges_with(*occasional->kernel_);
  }
  void take_over(std::span<Kernel* const> others) override {
    std::vector<Kernel*> inner;
    for (Kernel* other : others) inner.push_back(dynamic_cast<Occasional&>(*other).kernel_.get());
    kernel_->take_over(inner);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::int64_t expiry_;
  Period period_;
};

}  // namespace regatta
