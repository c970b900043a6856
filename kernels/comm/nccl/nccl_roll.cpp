// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl/nccl_roll.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string to_hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value / 16];
    text += kDigits[value % 16];
  }
  return text;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes += static_cast<char>(kDigits.find(text[i]) * 16 + kDigits.find(text[i + 1]));
  }
  return bytes;
}

/// Two members on one GPU; none if each has its own.
std::optional<std::pair<std::int64_t, std::int64_t>> on_one_gpu(const NcclClique& known) {
  std::map<std::string, std::int64_t> first_on;
  for (const auto& [number, member] : known.members) {
    const auto [other, alone] = first_on.emplace(member.gpu, number);
    if (!alone) return std::pair(other->second, number);
  }
  return std::nullopt;
}

void refuse_shared_gpu(const std::string& title, const NcclClique& known) {
  const auto two = on_one_gpu(known);
  if (!two) return;
  throw RunError(
      ErrorKind::Usage,
      title + ": members " + std::to_string(two->first) + " and " + std::to_string(two->second) +
          " are both on GPU " + known.members.at(two->first).gpu +
          ", and NCCL wants a GPU for each; fix: install NCCL 2.30.3 or newer, use fewer "
          "workers or more GPUs, or let the host sum: --all-reduce reduce_to_one, or of sharded "
          "and top_k all workers in one process");
}

/// Throws for members with different orders: a defect of Regatta, as the ranks' fingerprints have
/// shown that they build the same graph.
void refuse_another_order(const std::string& title, const NcclClique& known) {
  const auto& [first, expected] = *known.members.begin();
  for (const auto& [number, member] : known.members) {
    if (member.buckets == expected.buckets) continue;
    throw RunError(ErrorKind::Unsupported,
                   title + ": member " + std::to_string(first) + " reduces the buckets " +
                       expected.buckets + ", member " + std::to_string(number) + " " +
                       member.buckets +
                       ", and NCCL wants one order; fix: report this, and let the host sum until "
                       "that is done: --all-reduce reduce_to_one, or all workers in one process");
  }
}

}  // namespace

std::string NcclRoll::clique_of(const std::vector<std::int64_t>& processes) {
  std::string name;
  for (std::int64_t process : processes) {
    name += (name.empty() ? "" : ",") + std::to_string(process);
  }
  return name;
}

void NcclRoll::add_member(const std::string& clique, std::int64_t number,
                          const NcclMember& member) {
  text_ += "member " + clique + ' ' + std::to_string(number) + ' ' + member.gpu + ' ' +
           member.buckets + '\n';
}

void NcclRoll::add_id(const std::string& clique, const std::string& bytes) {
  text_ += "id " + clique + ' ' + to_hex(bytes) + '\n';
}

std::map<std::string, NcclClique> NcclRoll::read(const std::vector<std::string>& texts) {
  std::map<std::string, NcclClique> all;
  for (const std::string& text : texts) {
    std::istringstream words(text);
    std::string fact, clique;
    while (words >> fact >> clique) {
      if (fact == "member") {
        std::int64_t number = 0;
        NcclMember member;
        words >> number >> member.gpu >> member.buckets;
        all[clique].members[number] = member;
      } else {
        std::string hex;
        words >> hex;
        all[clique].id = from_hex(hex);
      }
    }
  }
  return all;
}

bool NcclRoll::shares_gpus(const NcclClique& known) { return on_one_gpu(known).has_value(); }

void NcclRoll::verify(const std::string& clique, const NcclClique& known, std::int64_t count,
                      SharedGpus shared) {
  const std::string title = "collectives by NCCL between processes " + clique;
  std::string missing;
  for (std::int64_t number = 0; number < count; ++number) {
    if (!known.members.contains(number)) missing += ' ' + std::to_string(number);
  }
  if (!missing.empty()) {
    throw RunError(ErrorKind::PeerLost, title + ": no process has member" + missing);
  }
  if (known.id.empty()) {
    throw RunError(ErrorKind::PeerLost, title + ": the process of member 0 gave no unique id");
  }
  if (shared == SharedGpus::Refused) refuse_shared_gpu(title, known);
  refuse_another_order(title, known);
}

std::string host_id() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot.empty() ? name.data() : boot;
}

}  // namespace regatta::comm
