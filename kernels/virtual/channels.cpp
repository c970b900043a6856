// SPDX-License-Identifier: Apache-2.0
#include "kernels/virtual/channels.h"

#include <utility>

namespace regatta::virtual_time {
namespace {

/// The share of a core that a message at the measured rate takes at each end. Open MPI's rate was
/// measured in a ring, where each core also served a message in the other direction.
double cores_of(Carrier carrier) { return carrier == Carrier::OpenMpi ? 0.5 : 1; }

}  // namespace

Channels::Channels(const Cluster& cluster, const std::vector<int>& host_of, EventQueue& events,
                   Network& network)
    : cluster_(cluster), host_of_(host_of), events_(events), network_(network) {
  const auto link = [this](double bytes_per_ns) {
    return bytes_per_ns < kNoLimit ? network_.add_link(bytes_per_ns) : -1;
  };
  for (const VirtualHost& host : cluster.hosts) {
    out_.push_back(link(host.out_bytes_per_ns));
    in_.push_back(link(host.in_bytes_per_ns));
  }
  core_ = link(cluster.core_bytes_per_ns);
}

void Channels::take_cores(const std::vector<int>& cores_of, double core) {
  cores_of_ = cores_of;
  core_capacity_ = core;
}

const MessageCosts& Channels::costs_of(Carrier carrier) const {
  switch (carrier) {
    case Carrier::OpenMpi: return cluster_.transports.open_mpi;
    case Carrier::OpenMpiSums: return cluster_.transports.open_mpi_sums;
    case Carrier::Grpc: break;
  }
  return cluster_.transports.grpc;
}

int Channels::channel_of(int from, int to, const Posted& message) {
  const LinkShares& shares = message.shares;
  const auto [entry, is_new] =
      numbers_.try_emplace({from, to, message.carrier, shares}, static_cast<int>(channels_.size()));
  if (!is_new) return entry->second;
  const MessageCosts& transport = costs_of(message.carrier);
  const auto sender = static_cast<std::size_t>(host_of_[static_cast<std::size_t>(from)]);
  const auto receiver = static_cast<std::size_t>(host_of_[static_cast<std::size_t>(to)]);
  Channel channel;
  channel.way = sender == receiver ? transport.on_host : transport.between_hosts;
  if (sender != receiver) {
    channel.latency_ns = cluster_.latency_ns;
    const int in = in_[shares.into_own_host ? sender : receiver];
    const std::array hops = {std::pair(out_[sender], shares.out), std::pair(core_, shares.across),
                             std::pair(in, shares.in)};
    for (const auto& [link, messages] : hops) {
      if (link >= 0) channel.route.add(link, messages);
    }
  }
  if (!cores_of_.empty()) {
    channel.core_share = cores_of(message.carrier);
    channel.cores = {cores_of_[static_cast<std::size_t>(from)],
                     cores_of_[static_cast<std::size_t>(to)]};
  }
  channels_.push_back(std::move(channel));
  return entry->second;
}

void Channels::post(double now, int from, int to, const Posted& message, const Delivery& delivery) {
  const int number = channel_of(from, to, message);
  Channel& channel = channels_[static_cast<std::size_t>(number)];
  channel.waiting.push_back({.message = message, .delivery = delivery});
  if (channel.waiting.size() > 1) return;
  channel.has_waited = false;
  start(now, number);
}

/// The time for which a new message waits for bytes queued at its links. It is 0 behind another
/// message of the channel, which has waited already.
double Channels::wait_ns(double now, const Channel& channel) const {
  double ns = 0;
  if (channel.has_waited || cluster_.queue_bytes == 0) return ns;
  for (const Hop& hop : channel.route.all()) {
    ns += network_.wait_ns(now, hop.link, cluster_.queue_bytes);
  }
  return ns;
}

void Channels::start(double now, int number) {
  const Channel& channel = channels_[static_cast<std::size_t>(number)];
  const Posted& message = channel.waiting.front().message;
  const int ways = 2 * message.handshakes;
  const double message_ns = message.goes_on ? 0 : channel.way.message_ns;
  events_.add({.time = now + message_ns + ways * channel.latency_ns,
               .kind = EventKind::MessageBegins,
               .index = number});
}

void Channels::begin_flow(const Event& event) {
  Channel& channel = channels_[static_cast<std::size_t>(event.index)];
  const double wait = wait_ns(event.time, channel);
  channel.has_waited = true;
  if (wait > 0) {
    events_.add({.time = event.time + wait, .kind = event.kind, .index = event.index});
    return;
  }
  const Posted& message = channel.waiting.front().message;
  const auto bytes = static_cast<double>(message.bytes);
  const double whole = message.of_bytes > 0 ? static_cast<double>(message.of_bytes) : bytes;
  const double rate = channel.way.rate_of(whole);
  const double core_ns_per_byte = channel.way.core_points.empty()
                                      ? channel.core_share / rate
                                      : channel.way.core_ns_of(whole) / whole;
  Route route = channel.route;
  for (const int cores : channel.cores) {
    if (cores >= 0 && rate < kNoLimit) route.add(cores, core_ns_per_byte * core_capacity_);
  }
  const bool is_limited = route.count() > 0 || rate < kNoLimit;
  const int flow = network_.begin(event.time, route, is_limited ? rate : 1, is_limited ? bytes : 0);
  if (channel_of_flow_.size() <= static_cast<std::size_t>(flow)) {
    channel_of_flow_.resize(static_cast<std::size_t>(flow) + 1);
  }
  channel_of_flow_[static_cast<std::size_t>(flow)] = event.index;
}

Delivery Channels::end_flow(const Event& event) {
  network_.end(event.index);
  const int number = channel_of_flow_[static_cast<std::size_t>(event.index)];
  Channel& channel = channels_[static_cast<std::size_t>(number)];
  const Delivery delivery = channel.waiting.front().delivery;
  channel.waiting.pop_front();
  events_.add({.time = event.time + channel.latency_ns,
               .kind = EventKind::MessageArrives,
               .index = delivery.index,
               .detail = delivery.detail});
  if (!channel.waiting.empty()) start(event.time, number);
  return delivery;
}

}  // namespace regatta::virtual_time
