// SPDX-License-Identifier: Apache-2.0
//
// A kernel that is skipped in steps that begin at or after its expiry, a count of examples seen
// (kernels/graph/expiry.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta {

class Expiring final : public Kernel {
 public:
  Expiring(std::unique_ptr<Kernel> kernel, std::int64_t expiry)
      : kernel_(std::move(kernel)), expiry_(expiry) {}
  void run(const StepContext& context) override {
    if (context.examples < expiry_) kernel_->run(context);
  }
  QueuedExchange* queued_exchange() override { return kernel_->queued_exchange(); }
  const Resting* resting() const override { return kernel_->resting(); }
  bool merges_with(const Kernel& other) const override {
    const auto* expiring = dynamic_cast<const Expiring*>(&other);
    return expiring != nullptr && expiring->expiry_ == expiry_ &&
           kernel_->merges_with(*expiring->kernel_);
  }
  void take_over(std::span<Kernel* const> others) override {
    std::vector<Kernel*> inner;
    for (Kernel* other : others) inner.push_back(dynamic_cast<Expiring&>(*other).kernel_.get());
    kernel_->take_over(inner);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::int64_t expiry_;
};

}  // namespace regatta
