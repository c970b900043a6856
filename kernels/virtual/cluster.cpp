// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/cluster.h"

namespace regatta::virtual_time {

double Way::ns_of(double bytes) const {
  MessageTime before{.bytes = 0, .ns = message_ns};
  for (const MessageTime& each : points) {
    if (bytes <= each.bytes) {
      const double part = (bytes - before.bytes) / (each.bytes - before.bytes);
      return before.ns + part * (each.ns - before.ns);
    }
    before = each;
  }
  return before.ns + (bytes - before.bytes) / bytes_per_ns;
}

double Way::rate_of(double bytes) const {
  if (points.empty()) return bytes_per_ns;
  const double ns = ns_of(bytes) - message_ns;
  return ns > 0 ? bytes / ns : kNoLimit;
}

}  // namespace regatta::virtual_time
