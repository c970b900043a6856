// SPDX-License-Identifier: Apache-2.0
//
// A kernel that is skipped in steps that begin at or after its expiry, a count of examples seen
// (kernels/graph/expiry.h).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

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

 private:
  std::unique_ptr<Kernel> kernel_;
  std::int64_t expiry_;
};

}  // namespace regatta
