// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/kernel.h"

#include <algorithm>
#include <string>

#include "kernels/graph/error.h"
#include "kernels/runtime/clock.h"

namespace regatta {

void LaneCounters::count_update(const SeenVersion& seen, std::uint64_t previous) {
  staleness[std::min<std::size_t>(previous - seen.number, staleness.size() - 1)] += 1;
  age.add(span_ns(seen.ticks, ticks()));
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
