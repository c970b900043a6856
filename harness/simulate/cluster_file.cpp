// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "harness/simulate/device_file.h"
#include "harness/system/input_file.h"
#include "kernels/base/error.h"
#include "kernels/base/names.h"

namespace regatta::simulate {
namespace {

using virtual_time::Cluster;
using virtual_time::ComputeTimes;
using virtual_time::VirtualHost;

constexpr std::uintmax_t kMostCluster = 64 << 10;
constexpr std::int64_t kMostHosts = 4096;
constexpr std::int64_t kMostCores = 4096;
constexpr double kLeastSpread = 1e-6;  // unless 0: a gamma distribution's shape is 1 / spread^2
constexpr double kMostSpread = 10;
constexpr double kMostLatency = 1e8;                        // us
constexpr double kMostQueue = 1e9;                          // kB
constexpr double kLeastGbit = 1e-6, kMostGbit = 1e6;        // a second
constexpr double kLeastSample = 1e-12, kMostSample = 1e13;  // only ratios of samples count
constexpr double kBytesPerNsOfGbit = 0.125;

using CalibrationAt = std::function<CalibrationFile(const std::string& path)>;

class ClusterReader : TomlReader {
 public:
  explicit ClusterReader(const std::string& source) : TomlReader(source), source_(source) {}

  ClusterFile read(const toml::table& table, const CalibrationAt& calibration_at,
                   const ProfileAt& profile_at) {
    allow(table,
          {"calibration", "threads_per_worker", "server_cores", "machine_cores", "latency_us",
           "core_gbit_per_s", "queue_kb", "seed", "compute_times", "host", "devices"});
    ClusterFile file;
    Cluster& cluster = file.cluster;
    if (const toml::node* devices = table.get("devices")) {
      read_devices_of(*devices, table, profile_at, file);
    } else {
      read_costs(table, calibration_at, file);
    }
    cluster.threads_per_worker =
        static_cast<int>(whole(table, "threads_per_worker", 1, {1, kMostCores}));
    cluster.server_cores = static_cast<int>(whole(table, "server_cores", 1, {1, kMostCores}));
    cluster.machine_cores = static_cast<int>(whole(table, "machine_cores", 0, {1, kMostCores}));
    cluster.seed = static_cast<std::uint64_t>(whole(table, "seed", 1, {0, 1'000'000'000}));
    if (!cluster.devices) {
      cluster.latency_ns = 1e3 * real(table, "latency_us", {0, kMostLatency}).value_or(0);
    }
    cluster.core_bytes_per_ns = link(table, "core_gbit_per_s");
    cluster.queue_bytes = 1e3 * real(table, "queue_kb", {0, kMostQueue}).value_or(0);
    if (const toml::node* times = table.get("compute_times")) {
      read_times(*times, cluster);
    } else if (!file.calibration.step_ns.empty()) {
      cluster.compute_times = {.kind = ComputeTimes::Kind::Samples,
                               .samples = file.calibration.step_ns};
    }
    read_hosts(table, file);
    const bool all_have_one =
        std::ranges::all_of(cluster.hosts, [](const VirtualHost& host) { return host.cores == 1; });
    if (cluster.machine_cores > 0 && !all_have_one) {
      throw error("with machine_cores a host has one core; fix: leave cores of [[host]] out");
    }
    return file;
  }

 private:
  void read_costs(const toml::table& table, const CalibrationAt& calibration_at,
                  ClusterFile& file) const {
    const auto calibration = table["calibration"].value<std::string>();
    if (!calibration || calibration->empty()) {
      throw error(
          "calibration is missing; fix: regatta calibrate ... --out calibration.json, and "
          "calibration = \"calibration.json\" here");
    }
    CalibrationFile costs = calibration_at(*calibration);
    file.calibration = std::move(costs.calibration);
    file.calibration_digest = costs.digest;
    file.cluster.transports = file.calibration.transports;
  }

  /// Messages between devices have the rates of the two levels of their network. Each device has
  /// its share of the host's cards for itself.
  void read_devices_of(const toml::node& node, const toml::table& table,
                       const ProfileAt& profile_at, ClusterFile& file) const {
    const toml::table* of_devices = node.as_table();
    if (of_devices == nullptr) throw error("devices is a table: [devices]");
    for (const char* key : {"calibration", "machine_cores", "latency_us", "core_gbit_per_s",
                            "queue_kb", "threads_per_worker"}) {
      if (table.contains(key)) {
        throw error(fmt::format("{} is for hosts without [devices]; fix: leave it out", key));
      }
    }
    DevicesOfFile read = read_devices(*of_devices, source_, profile_at);
    const virtual_time::Devices& made = read.devices;
    file.device_order = read.order;
    file.calibration_digest = digest_of_text(read.texts);
    file.calibration.source = "profile " + made.profile.name;
    for (const virtual_time::Level* each : {&made.inside, &made.between}) {
      if (!each->name.empty()) file.calibration.source += ", " + each->name;
    }
    virtual_time::MessageCosts& messages = file.cluster.transports.open_mpi;
    if (made.per_host > 1) {
      messages.on_host = {.message_ns = made.inside.message_ns,
                          .bytes_per_ns = made.inside.message_bytes_per_ns};
    }
    if (!made.between.name.empty()) {
      const double part = std::min(1.0, static_cast<double>(made.cards) / made.per_host);
      messages.between_hosts = {.message_ns = made.between.message_ns,
                                .bytes_per_ns = made.between.message_bytes_per_ns * part};
    }
    file.cluster.transports.in_process.on_host = messages.on_host;
    file.cluster.devices = std::move(read.devices);
  }

  double link(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return virtual_time::kNoLimit;
    if (node->value<double>() == 0.0) {
      throw error(
          fmt::format("{} is 0, so that nothing would ever arrive; fix: a bandwidth above "
                      "0, or none for a link without a limit",
                      key));
    }
    return in_range(*node, key, {kLeastGbit, kMostGbit}) * kBytesPerNsOfGbit;
  }

  /// The bandwidth of one direction of a host's link.
  double link(const toml::table& host, const char* key, const char* of_both) const {
    if (!host.contains(key)) return link(host, of_both);
    if (host.contains(of_both)) throw error(fmt::format("a host has {} or {}", of_both, key));
    return link(host, key);
  }

  void read_times(const toml::node& node, Cluster& cluster) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) throw error("compute_times is a table: [compute_times]");
    allow(*table, {"kind", "spread", "samples"});
    const toml::node* word = table->get("kind");
    if (word != nullptr && !word->is_string()) throw error("kind is a word, such as \"gamma\"");
    const auto kind = (*table)["kind"].value<std::string>().value_or("constant");
    std::vector<std::string> names;
    ComputeTimes& times = cluster.compute_times;
    for (const ComputeTimes::Kind each :
         {ComputeTimes::Kind::Constant, ComputeTimes::Kind::Gamma, ComputeTimes::Kind::LogNormal,
          ComputeTimes::Kind::ShiftedExponential, ComputeTimes::Kind::Samples}) {
      names.emplace_back(to_string(each));
      if (names.back() == kind) times.kind = each;
    }
    if (std::find(names.begin(), names.end(), kind) == names.end()) {
      throw error(unknown_name("kind", kind, names).what());
    }
    times.spread = real(*table, "spread", {0, kMostSpread}).value_or(0);
    if (times.spread > 0 && times.spread < kLeastSpread) {
      throw error(fmt::format("spread is 0, or from {}", kLeastSpread));
    }
    if (times.kind == ComputeTimes::Kind::ShiftedExponential && times.spread > 1) {
      throw error("spread of shifted_exponential is the part that varies, 0 to 1");
    }
    if (const toml::node* samples = table->get("samples")) {
      if (!samples->is_array()) throw error("samples are a list");
      for (const toml::node& each : *samples->as_array()) {
        times.samples.push_back(in_range(each, "one of samples", {kLeastSample, kMostSample}));
      }
    }
    if ((times.kind == ComputeTimes::Kind::Samples) == times.samples.empty()) {
      throw error("samples belong to kind = \"samples\", and it needs some");
    }
  }

  void read_hosts(const toml::table& table, ClusterFile& file) const {
    const toml::array* hosts = table["host"].as_array();
    if (hosts == nullptr || hosts->empty() || !hosts->is_array_of_tables()) {
      throw error("there is no host; fix: add a block [[host]] with cores");
    }
    for (const toml::node& node : *hosts) {
      const toml::table& each = *node.as_table();
      if (file.cluster.devices) allow(each, {"count"});
      allow(each, {"count", "cores", "gbit_per_s", "out_gbit_per_s", "in_gbit_per_s", "processes"});
      VirtualHost host;
      const auto& devices = file.cluster.devices;
      host.cores =
          devices ? devices->per_host : static_cast<int>(whole(each, "cores", 1, {1, kMostCores}));
      host.out_bytes_per_ns = link(each, "out_gbit_per_s", "gbit_per_s");
      host.in_bytes_per_ns = link(each, "in_gbit_per_s", "gbit_per_s");
      const std::int64_t count = whole(each, "count", 1, {1, kMostHosts});
      const std::int64_t processes = whole(each, "processes", 0, {1, kMostCores});
      for (std::int64_t i = 0; i < count; ++i) {
        host.name = fmt::format("host{}", file.cluster.hosts.size());
        file.cluster.hosts.push_back(host);
        file.processes.push_back(static_cast<int>(processes));
      }
      if (std::ssize(file.cluster.hosts) > kMostHosts) {
        throw error(fmt::format("more than {} hosts", kMostHosts));
      }
    }
    if (file.cluster.devices && file.cluster.hosts.size() > 1 &&
        file.cluster.devices->between.name.empty()) {
      throw error("several hosts need `between` in [devices], the network that joins them");
    }
    if (file.cluster.devices &&
        std::ssize(file.cluster.hosts) > file.cluster.devices->hosts_per_switch) {
      file.cluster.transports.open_mpi.between_hosts.bytes_per_ns /=
          file.cluster.devices->oversubscription;
    }
  }

  std::string source_;
};

}  // namespace

ClusterFile read_cluster(const std::filesystem::path& path, const std::string& cpu,
                         const std::string& git_commit) {
  ClusterFile file = parse_cluster(
      system::text_of(path, kMostCluster), path.string(),
      [&](const std::string& name) { return read_calibration(path.parent_path() / name); },
      [&](const std::string& name) { return profile_text(name, path.parent_path()); });
  require_fitting(file.calibration, path.string(), cpu, git_commit);
  return file;
}

ClusterFile parse_cluster(const std::string& text, const std::string& name,
                          const CalibrationAt& calibration_at, const ProfileAt& profile_at) {
  ClusterFile file = ClusterReader(name).read(parse_toml(text, name), calibration_at, profile_at);
  file.digest = digest_of_text(text);
  return file;
}

record::HardwareRecord hardware_of(const ClusterFile& file) {
  const auto bytes_per_s = [](double per_ns) {
    return std::isfinite(per_ns) ? std::optional(per_ns * 1e9) : std::nullopt;
  };
  const Cluster& cluster = file.cluster;
  double narrowest = virtual_time::kNoLimit;
  for (const VirtualHost& host : cluster.hosts) {
    narrowest = std::min({narrowest, host.out_bytes_per_ns, host.in_bytes_per_ns});
  }
  if (cluster.devices && cluster.hosts.size() > 1) {
    narrowest = cluster.devices->cards * cluster.devices->between.bytes_per_ns;
  }
  return {.link_bytes_per_s = bytes_per_s(narrowest),
          .core_bytes_per_s = bytes_per_s(cluster.core_bytes_per_ns),
          .latency_ns = cluster.latency_ns,
          .server_cores = cluster.server_cores,
          .compute_times = std::string(to_string(cluster.compute_times.kind)),
          .spread = cluster.compute_times.spread,
          .cpu = file.calibration.cpu,
          .queue_bytes = cluster.queue_bytes,
          .machine_cores = cluster.machine_cores};
}

std::vector<int> hosts_of(const ClusterFile& file, const std::vector<ProcessNeeds>& needs) {
  const std::vector<VirtualHost>& hosts = file.cluster.hosts;
  std::vector<int> result;
  std::size_t host = 0;
  int cores = 0;
  int processes = 0;  // on the host
  for (const ProcessNeeds& need : needs) {
    const auto is_full = [&] {
      const int most = file.processes[host];
      return most > 0 ? processes == most : cores + need.cores > hosts[host].cores;
    };
    while (host < hosts.size() && is_full()) {
      ++host;
      cores = processes = 0;
    }
    if (host == hosts.size()) {
      throw RunError(
          ErrorKind::Usage,
          fmt::format("the cluster's {} hosts have no room for process {} of {}, which needs {} "
                      "core{}; fix: more hosts or cores, or processes of [[host]]",
                      hosts.size(), result.size(), needs.size(), need.cores,
                      need.cores == 1 ? "" : "s"));
    }
    cores += need.cores;
    ++processes;
    result.push_back(static_cast<int>(host));
  }
  return result;
}

}  // namespace regatta::simulate
