// SPDX-License-Identifier: Apache-2.0
#include "harness/simulate/device_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "harness/system/input_file.h"
#include "harness/system/program_files.h"

namespace regatta::simulate {
namespace {

using virtual_time::AttentionKernel;
using virtual_time::DeviceProfile;
using virtual_time::Devices;
using virtual_time::Level;
using virtual_time::ShareAt;

constexpr std::uintmax_t kMostProfile = 64 << 10;
constexpr NumberRange kRate{1e-6, 1e6};  // GB/s, tflops
constexpr NumberRange kShare{1e-3, 1};
constexpr NumberRange kTime{0, 1e6};  // us
constexpr NumberRange kMemory{1e-3, 1e6};
constexpr NumberRange kSize{1e-3, 1e15};
constexpr double kGib = 1 << 30;

class ProfileReader : TomlReader {
 public:
  using TomlReader::TomlReader;

  DeviceProfile device(const toml::table& table, const std::string& name) const {
    allow(table, {"memory_gib", "reserved_gib", "gb_per_s", "memory_share", "tflops_16",
                  "tflops_32", "product_share", "flash_forward_share", "flash_backward_share",
                  "unfused_share", "launch_us", "collective_share"});
    DeviceProfile made{.name = name, .flop_per_ns = {}, .product_shares = {}, .memory_shares = {}};
    const auto flops = [&](const char* key, ElementType element) {
      if (const auto rate = real(table, key, kRate)) made.flop_per_ns[element] = 1e3 * *rate;
    };
    flops("tflops_16", ElementType::BF16);
    flops("tflops_32", ElementType::F32);
    made.product_shares = shares(table, "product_share", 1e9);
    made.bytes_per_ns = needed(table, "gb_per_s", kRate);
    made.memory_shares = shares(table, "memory_share", 1);
    made.launch_ns = 1e3 * needed(table, "launch_us", kTime);
    made.flash_forward_share = real(table, "flash_forward_share", kShare).value_or(0);
    made.flash_backward_share = real(table, "flash_backward_share", kShare).value_or(0);
    made.unfused_share = real(table, "unfused_share", kShare).value_or(0);
    made.collective_share = real(table, "collective_share", {0, 0.9}).value_or(0);
    made.memory_bytes = kGib * needed(table, "memory_gib", kMemory);
    made.reserved_bytes = kGib * real(table, "reserved_gib", {0, kMemory[1]}).value_or(0);
    return made;
  }

  Level level(const toml::table& table, const std::string& name) const {
    allow(table, {"gb_per_s", "share", "base_us", "hop_us", "tree_share", "groups", "message_us",
                  "message_share"});
    Level made{.name = name, .groups = {}};
    const double wire = needed(table, "gb_per_s", kRate);
    made.bytes_per_ns = wire * needed(table, "share", kShare);
    made.base_ns = 1e3 * needed(table, "base_us", kTime);
    made.hop_ns = 1e3 * needed(table, "hop_us", kTime);
    made.tree_share = real(table, "tree_share", kShare).value_or(1);
    made.message_ns = 1e3 * needed(table, "message_us", kTime);
    made.message_bytes_per_ns = wire * needed(table, "message_share", kShare);
    for (const auto& row : rows(table, "groups", {{2, 1e6}, kTime, kRate})) {
      if (!made.groups.empty() && row[0] <= made.groups.back().members) {
        throw error("groups do not rise in their number of members");
      }
      made.groups.push_back({.members = row[0],
                             .hops_ns = std::max(0.0, 1e3 * row[1] - made.base_ns),
                             .bytes_per_ns = row[2]});
    }
    return made;
  }

 private:
  double needed(const toml::table& table, const char* key, NumberRange range) const {
    const auto value = real(table, key, range);
    if (value) return *value;
    throw error(fmt::format("{} is missing; fix: add it with its source", key));
  }

  std::vector<ShareAt> shares(const toml::table& table, const char* key, double unit) const {
    std::vector<ShareAt> made;
    for (const auto& row : rows(table, key, {kSize, kShare})) {
      made.push_back({.size = unit * row[0], .share = row[1]});
    }
    if (virtual_time::is_monotone(made)) return made;
    throw error(fmt::format("{}: sizes rise, and no share so fast that more takes less time", key));
  }
};

class DevicesReader : TomlReader {
 public:
  DevicesReader(const std::string& source, const ProfileAt& profile_at)
      : TomlReader(source), profile_at_(profile_at) {}

  DevicesOfFile read(const toml::table& table) {
    allow(table, {"device", "inside", "between", "per_host", "cards", "hosts_per_switch",
                  "oversubscription", "attention", "accumulation", "communication", "attained",
                  "exchanged_bits", "order"});
    Devices& made = file_.devices;
    made.per_host = static_cast<int>(whole(table, "per_host", 1, {1, 4096}));
    made.cards = static_cast<int>(whole(table, "cards", 1, {1, 4096}));
    made.hosts_per_switch = static_cast<int>(whole(table, "hosts_per_switch", 1, {1, 1 << 20}));
    made.oversubscription = real(table, "oversubscription", {1, 1e3}).value_or(1);
    if (one_of(table, "communication", {"beside", "blocking"}) == "blocking") {
      made.communication = virtual_time::Communication::Blocking;
    }
    made.attained = real(table, "attained", {0.01, 1}).value_or(1);
    made.exchanged_bits = static_cast<int>(whole(table, "exchanged_bits", 32, {8, 32}));
    made.profile = profile(table, "device", &ProfileReader::device);
    if (made.per_host > 1) made.inside = profile(table, "inside", &ProfileReader::level);
    if (table.contains("between")) made.between = profile(table, "between", &ProfileReader::level);
    if (one_of(table, "attention", {"flash", "unfused"}) == "unfused") {
      made.attention = AttentionKernel::Unfused;
    }
    if (one_of(table, "accumulation", {"apart", "fused"}) == "fused") {
      made.accumulation = virtual_time::Accumulation::Fused;
    }
    if (const std::string order = word(table, "order"); !order.empty()) read_order(order);
    return std::move(file_);
  }

 private:
  /// The word at a key, one of two; the first if the key is missing.
  std::string one_of(const toml::table& table, const char* key,
                     std::array<std::string, 2> words) const {
    const std::string given = word(table, key);
    if (given.empty() || std::ranges::find(words, given) != words.end()) {
      return given.empty() ? words[0] : given;
    }
    throw error(fmt::format("{} is {} or {}", key, words[0], words[1]));
  }

  template <typename T>
  T profile(const toml::table& table, const char* key,
            T (ProfileReader::*member)(const toml::table&, const std::string&) const) {
    const std::string name = word(table, key);
    if (name.empty()) throw error(fmt::format("{} is missing in [devices]", key));
    const std::string text = profile_at_(name);
    file_.texts += text;
    const std::string source = "profile " + name;
    return (ProfileReader(source).*member)(parse_toml(text, source), name);
  }

  void read_order(const std::string& order) {
    std::istringstream words(order);
    for (std::string& each : file_.order) words >> each;
    std::string rest;
    auto sorted = file_.order;
    std::ranges::sort(sorted);
    if (words >> rest || sorted != std::array<std::string, 3>{"replica", "shard", "stage"}) {
      throw error("order has the words shard, stage and replica, the fastest first");
    }
  }

  const ProfileAt& profile_at_;
  DevicesOfFile file_;
};

}  // namespace

DevicesOfFile read_devices(const toml::table& table, const std::string& source,
                           const ProfileAt& profile_at) {
  return DevicesReader(source, profile_at).read(table);
}

std::string profile_text(const std::string& name, const std::filesystem::path& folder) {
  if (name.ends_with(".toml")) return system::text_of(folder / name, kMostProfile);
  const std::filesystem::path path = "harness/simulate/profiles/" + name + ".toml";
  if (name.find('/') == std::string::npos) {
    if (const auto found = system::find_program_file(path)) {
      return system::text_of(*found, kMostProfile);
    }
  }
  throw RunError(ErrorKind::Data, "there is no profile '" + name + "', which would be " +
                                      path.string() +
                                      "; fix: one of that folder, or a path that "
                                      "ends in .toml");
}

}  // namespace regatta::simulate
