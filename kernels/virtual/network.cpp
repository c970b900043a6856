// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/network.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace regatta::virtual_time {
namespace {

constexpr double kAlike = 1 + 1e-9;  ///< tolerance, as shares are rounded
constexpr std::size_t kFewEvents = 1024;

}  // namespace

int Network::add_link(double capacity) {
  check(capacity > 0, "a link has a capacity");
  links_.push_back({.capacity = capacity, .flows = {}});
  return static_cast<int>(links_.size()) - 1;
}

void Network::change(int number) {
  if (link(number).is_changed) return;
  link(number).is_changed = true;
  changed_links_.push_back(number);
}

int Network::begin(double now, const Route& route, double most, double bytes, EventKind ends) {
  check(route.count() > 0 || most < kNoLimit, "something limits a flow");
  int number = static_cast<int>(flows_.size());
  if (free_.empty()) {
    flows_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Flow& added = flow(number);
  added = {.route = route,
           .most = most,
           .bytes = bytes,
           .since = now,
           .rate = 0,
           .ends = ends,
           .version = added.version + 1};
  for (const Hop& hop : route.all()) {
    link(hop.link).flows.push_back(number);
    change(hop.link);
  }
  if (route.count() == 0) alone_.push_back(number);
  return number;
}

bool Network::ends(const Event& event) const {
  return flows_[static_cast<std::size_t>(event.index)].version == event.detail;
}

void Network::end(int number) {
  for (const Hop& hop : flow(number).route.all()) {
    std::erase(link(hop.link).flows, number);
    change(hop.link);
  }
  ++flow(number).version;
  free_.push_back(number);
}

double Network::wait_ns(double now, int number, double most) const {
  const Link& link = links_[static_cast<std::size_t>(number)];
  double queued = 0;
  for (const int f : link.flows) {
    const Flow& flow = flows_[static_cast<std::size_t>(f)];
    if (flow.limited_by != number) continue;
    queued += std::clamp(flow.bytes - flow.rate * (now - flow.since), 0.0, most);
  }
  return queued / link.capacity;
}

/// Collects all flows that links connect, directly or through other flows, with a changed link.
void Network::find_connected() {
  connected_.clear();
  for (std::size_t i = 0; i < changed_links_.size(); ++i) {
    for (const int f : link(changed_links_[i]).flows) {
      if (flow(f).is_found) continue;
      flow(f).is_found = true;
      connected_.push_back(f);
      for (const Hop& hop : flow(f).route.all()) change(hop.link);
    }
  }
}

/// The first link on an unsettled flow's route that allows the flow at most `rate`; -1: none.
int Network::first_limit(const Flow& flow, double rate) const {
  for (const Hop& hop : flow.route.all()) {
    const Link& link = links_[static_cast<std::size_t>(hop.link)];
    if (link.left <= kAlike * rate * link.weight) return hop.link;
  }
  return -1;
}

void Network::settle_at(int number, double rate, int limited_by) {
  Flow& settled = flow(number);
  settled.is_settled = true;
  settled.rate = rate;
  settled.limited_by = limited_by;
  for (const Hop& hop : settled.route.all()) {
    link(hop.link).left -= rate * hop.weight;
    link(hop.link).weight -= hop.weight;
    --link(hop.link).unsettled;
  }
}

/// Computes the rates of the connected flows.
void Network::fill() {
  for (const int l : changed_links_) {
    link(l).left = link(l).capacity;
    link(l).unsettled = static_cast<int>(link(l).flows.size());
    link(l).weight = 0;
  }
  std::size_t unsettled = connected_.size();
  for (const int f : connected_) {
    flow(f).is_settled = false;
    for (const Hop& hop : flow(f).route.all()) link(hop.link).weight += hop.weight;
  }
  while (unsettled > 0) {
    double least = kNoLimit;
    int narrowest = -1;
    for (const int l : changed_links_) {
      if (link(l).unsettled == 0) continue;
      const double share = std::max(0.0, link(l).left) / link(l).weight;
      if (share >= least) continue;
      least = share;
      narrowest = l;
    }
    std::size_t before = unsettled;
    for (const int f : connected_) {
      if (flow(f).is_settled || flow(f).most > least) continue;
      settle_at(f, flow(f).most, -1);
      --unsettled;
    }
    if (unsettled < before) continue;  // their leftover capacity raises the others' shares
    for (const int f : link(narrowest).flows) {
      if (flow(f).is_settled) continue;
      settle_at(f, least, first_limit(flow(f), least));
      --unsettled;
    }
  }
}

void Network::foresee_end(double now, int number) {
  Flow& one = flow(number);
  events_.add({.time = now + one.bytes / one.rate,
               .kind = one.ends,
               .index = number,
               .detail = ++one.version});
}

void Network::settle(double now) {
  for (const int f : alone_) {
    flow(f).rate = flow(f).most;
    foresee_end(now, f);
  }
  alone_.clear();
  if (changed_links_.empty()) return;
  find_connected();
  for (const int f : connected_) {
    Flow& one = flow(f);
    one.bytes = std::max(0.0, one.bytes - one.rate * (now - one.since));
    one.since = now;
    one.is_found = false;
  }
  fill();
  for (const int f : connected_) foresee_end(now, f);
  replaced_ += connected_.size();
  if (replaced_ > kFewEvents + events_.size() / 2) {
    events_.drop([this](const Event& event) { return is_outdated(event); });
    replaced_ = 0;
  }
  for (const int l : changed_links_) link(l).is_changed = false;
  changed_links_.clear();
}

}  // namespace regatta::virtual_time
