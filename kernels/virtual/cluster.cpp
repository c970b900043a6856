// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/cluster.h"

namespace regatta::virtual_time {

namespace {

/// Interpolates from `before` over `points`; beyond the last, `bytes_per_ns` applies.
double interpolated(double bytes, MessageTime before, const std::vector<MessageTime>& points,
                    double bytes_per_ns) {
  for (const MessageTime& each : points) {
    if (bytes <= each.bytes) {
      const double part = (bytes - before.bytes) / (each.bytes - before.bytes);
      return before.ns + part * (each.ns - before.ns);
    }
    before = each;
  }
  return before.ns + (bytes - before.bytes) / bytes_per_ns;
}

}  // namespace

double Way::ns_of(double bytes) const {
  return interpolated(bytes, {.bytes = 0, .ns = message_ns}, points, bytes_per_ns);
}

double Way::core_ns_of(double bytes) const {
  const MessageTime& last = core_points.back();
  return interpolated(bytes, {.bytes = 0, .ns = core_points.front().ns}, core_points,
                      last.bytes / last.ns);
}

double Way::rate_of(double bytes) const {
  if (points.empty()) return bytes_per_ns;
  const double ns = ns_of(bytes) - message_ns;
  return ns > 0 ? bytes / ns : kNoLimit;
}

}  // namespace regatta::virtual_time
