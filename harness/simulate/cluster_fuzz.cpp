// SPDX-License-Identifier: Apache-2.0
//
// Parses arbitrary bytes as a cluster's file, up to the first zero byte, and as its calibration
// after that; without a zero byte the calibration is a valid one. An input that begins with a brace
// is a calibration alone. If an input is accepted, a simulation must be able to use it: numbers are
// in their ranges, compute times can be drawn, and the calibration reads back as it was written.
#include <cmath>

#include "harness/simulate/cluster_file.h"
#include "kernels/base/error.h"

namespace regatta::simulate {
namespace {

using virtual_time::kNoLimit;
using virtual_time::MessageCosts;
using virtual_time::Way;

bool is_within(double value, double least, double most) { return value >= least && value <= most; }

bool is_rate(double rate) {
  return rate == kNoLimit || is_within(rate, kLeastBytesPerNs, kMostBytesPerNs);
}

void check_way(const Way& way) {
  check(is_within(way.message_ns, 0, kMostNs), "a message takes no more than it may");
  check(is_rate(way.bytes_per_ns), "a way's rate is in its range");
  double ns = way.message_ns;
  for (const double bytes : {0.0, 1.0, 1e3, 1e6, 1e9}) {
    const double longer = way.ns_of(bytes);
    check(is_within(longer, ns * (1 - 1e-9), 1e19), "a longer message takes no less");
    check(way.rate_of(bytes + 1) > 0, "it gets on");
    ns = longer;
  }
}

void check_costs(const MessageCosts& costs) {
  check_way(costs.on_host);
  check_way(costs.between_hosts);
  check(is_rate(costs.adding_bytes_per_ns) && is_rate(costs.sending_bytes_per_ns),
        "a transport's rates are in their range");
}

void check_calibration(const Calibration& made) {
  for (const MessageCosts* costs : {&made.transports.in_process, &made.transports.open_mpi,
                                    &made.transports.open_mpi_sums, &made.transports.grpc}) {
    check_costs(*costs);
  }
  for (const auto& [key, ns] : made.kernels) {
    check(is_within(ns, 0, kMostNs), "a kernel takes no more than it may");
  }
  check(made.step_ns.size() <= kMostStepTimes, "no more steps than may be");
  for (const double ns : made.step_ns) {
    check(is_within(ns, 1, kMostNs), "a step takes no more than it may");
  }
  const std::string text = to_json(made);
  check(to_json(parse_calibration(text, "AGAIN").calibration) == text,
        "a calibration is read as it was written");
}

void check_cluster(const ClusterFile& file) {
  const virtual_time::Cluster& cluster = file.cluster;
  check(!cluster.hosts.empty() && cluster.hosts.size() == file.processes.size(),
        "there are hosts, and each may have processes");
  for (const virtual_time::VirtualHost& host : cluster.hosts) {
    check(host.cores >= 1 && is_rate(host.out_bytes_per_ns) && is_rate(host.in_bytes_per_ns),
          "a host has cores and links in their range");
  }
  check(is_within(cluster.latency_ns, 0, 1e12) && is_within(cluster.queue_bytes, 0, 1e12) &&
            is_rate(cluster.core_bytes_per_ns),
        "ways between hosts are in their range");
  check(cluster.threads_per_worker >= 1 && cluster.server_cores >= 1, "all have a core");
  check(cluster.machine_cores == 0 || cluster.hosts.front().cores == 1,
        "hosts that share a machine's cores have one each");
  for (std::uint32_t step = 0; step < 4; ++step) {
    const double factor =
        virtual_time::compute_factor(cluster.compute_times, cluster.seed, 0, step);
    check(is_within(factor, 0, 1e300), "a time can be drawn");
  }
  check(std::isfinite(hardware_of(file).latency_ns), "a record can say what hardware it was");
  const std::vector<ProcessNeeds> needs(3);
  try {
    check(hosts_of(file, needs).size() == needs.size(), "each process has a host");
  } catch (const RunError& error) {
    check(error.kind() == ErrorKind::Usage, "room is its author's matter");
  }
}

CalibrationFile sound_calibration() {
  Calibration made;
  made.step_ns = {1e6, 2e6};
  return {.calibration = made, .digest = ""};
}

std::string sound_profile(const std::string& name) {
  return name == "links" ? "gb_per_s = 25\nshare = 0.9\nbase_us = 5\nhop_us = 5\nmessage_us = 5\n"
                           "message_share = 0.9\n"
                         : "memory_gib = 80\ngb_per_s = 2000\nlaunch_us = 5\ntflops_16 = 300\n";
}

template <typename Read>
void read(Read&& read_input) {
  try {
    read_input();
  } catch (const RunError& error) {
    check(error.kind() == ErrorKind::Usage || error.kind() == ErrorKind::Data,
          "what is wrong with a file is its author's");
  }
}

void read_calibration_text(std::string_view text) {
  read([&] { check_calibration(parse_calibration(text, "FILE").calibration); });
}

}  // namespace
}  // namespace regatta::simulate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view cluster = input.substr(0, input.find('\0'));
  if (cluster.starts_with('{')) {
    regatta::simulate::read_calibration_text(input);
    return 0;
  }
  const std::string_view calibration = input.substr(cluster.size());
  regatta::simulate::read([&] {
    regatta::simulate::check_cluster(regatta::simulate::parse_cluster(
        std::string(cluster), "FILE",
        [&](const std::string&) {
          return calibration.empty()
                     ? regatta::simulate::sound_calibration()
                     : regatta::simulate::parse_calibration(calibration.substr(1), "COSTS");
        },
        [&](const std::string& name) {
          return calibration.empty() ? regatta::simulate::sound_profile(name)
                                     : std::string(calibration.substr(1));
        }));
  });
  return 0;
}
