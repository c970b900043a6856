// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/kernel.h"

#include <algorithm>
#include <string>

#include "kernels/base/error.h"
#include "kernels/runtime/capture/queued_counts.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {

void LaneCounters::count_update(const SeenVersion& seen, std::uint64_t previous) {
  staleness[std::min<std::size_t>(previous - seen.number, staleness.size() - 1)] += 1;
  age.add(span_ns(seen.ticks, ticks()));
}

void add(const QueuedCounts& counts, std::vector<std::uint64_t>& staleness, SpanHistogram& age) {
  for (std::size_t i = 0; i < staleness.size(); ++i) staleness[i] += counts.staleness[i];
  SpanHistogram::Counts ages;
  std::copy_n(counts.ages, ages.size(), ages.begin());
  age.add(SpanHistogram::of(ages, counts.age_sum_ns, counts.longest_age_ns));
}

std::unique_ptr<Kernel> KernelTable::build(const KernelRequest& request) const {
  const auto found = factories_.find(request.node.op);
  std::unique_ptr<Kernel> kernel;
  if (found != factories_.end()) kernel = found->second(request);
  if (kernel == nullptr) {
    std::string types;
    for (const Tensor& input : request.inputs) types += ' ' + to_string(input.type);
    throw RunError(ErrorKind::Unsupported, "no kernel computes '" +
                                               std::string(to_string(request.node.op)) + "' of" +
                                               types + " on device '" + device_ + "'");
  }
  return kernel;
}

}  // namespace regatta
