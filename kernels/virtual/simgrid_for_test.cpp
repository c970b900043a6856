// SPDX-License-Identifier: Apache-2.0
//
// Runs flows in SimGrid's model CM02, without cross-traffic and without a bound by TCP's window.
// The default model, LV08, lengthens latencies and reduces bandwidths to model a slow start, which
// connections that stay open do not have. Links have no latency, since SimGrid would weight shares
// by it. Source: simgrid.org/doc/latest/Models.html, Configuring_SimGrid.html.
#include <simgrid/s4u.hpp>
#include <string>

#include "kernels/virtual/flows_for_test.h"

namespace regatta::virtual_time {
namespace {

namespace s4u = simgrid::s4u;

/// Scale of amounts: SimGrid treats amounts that differ by less than 1e-5 as equal.
constexpr double kBytesPerUnit = 1e6;

s4u::Link* add_link(s4u::NetZone& zone, const std::string& name, double capacity) {
  return zone.create_link(name, capacity * kBytesPerUnit)->seal();
}

}  // namespace

std::optional<std::vector<double>> ends_by_simgrid(const TestFlows& flows) {
  int count = 1;
  std::string name = "simgrid";
  char* arguments[] = {name.data(), nullptr};
  s4u::Engine engine(&count, arguments);
  s4u::Engine::set_config("network/model:CM02");
  s4u::Engine::set_config("network/crosstraffic:0");
  s4u::Engine::set_config("network/TCP-gamma:0");
  s4u::NetZone& zone = *s4u::create_full_zone("all");
  std::vector<s4u::Link*> links;
  for (const double capacity : flows.capacities) {
    links.push_back(add_link(zone, "link" + std::to_string(links.size()), capacity));
  }
  std::vector<double> ends(flows.flows.size());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const TestFlow& flow = flows.flows[i];
    const std::string number = std::to_string(i);
    s4u::Host* from = zone.create_host("from" + number, 1)->seal();
    s4u::Host* to = zone.create_host("to" + number, 1)->seal();
    std::vector<s4u::LinkInRoute> route;
    for (const int link : flow.links) route.emplace_back(links[static_cast<std::size_t>(link)]);
    if (flow.most < kNoLimit) route.emplace_back(add_link(zone, "own" + number, flow.most));
    zone.add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
    s4u::Actor::create("flow" + number, from, [&flow, &ends, i, from, to] {
      s4u::this_actor::sleep_until(flow.begins);
      s4u::Comm::sendto(from, to, static_cast<std::uint64_t>(flow.bytes * kBytesPerUnit));
      ends[i] = s4u::Engine::get_clock();
    });
  }
  zone.seal();
  engine.run();
  return ends;
}

}  // namespace regatta::virtual_time
