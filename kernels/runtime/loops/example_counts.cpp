// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/example_counts.h"

namespace regatta {

/// Counts nothing for a model of which this process leads no loop: it receives all those tickets.
ExampleCounts::ExampleCounts(const ProcessLoops& loops)
    : loops_(loops), counts_(static_cast<std::size_t>(loops.models())) {
  for (int model = 0; model < loops.models(); ++model) {
    const std::int64_t led = loops.led_examples(model);
    if (led == 0) continue;
    ExampleCount& count = counts_[static_cast<std::size_t>(model)];
    count.led = led;
    count.all = loops.all_examples();
    led_ += led;
    all_ = count.all;
  }
}

void ExampleCounts::set_target(std::int64_t examples) {
  for (ExampleCount& count : counts_) count.target = count.of_led(examples);
}

std::int64_t ExampleCounts::seen() const {
  std::int64_t claimed = 0;
  for (const ExampleCount& count : counts_) claimed += count.claimed;
  return led_ == all_ ? claimed : claimed * all_ / led_;
}

}  // namespace regatta
