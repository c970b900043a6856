// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_group.h"

#include <algorithm>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

/// Limits of tags, which combine the numbers of the collective and of two members.
constexpr std::int64_t kMembersPerTag = 256;
constexpr std::int64_t kGroupsPerTag = 32767;

int tag(std::int64_t group, std::int64_t from, std::int64_t to) {
  return static_cast<int>((group * kMembersPerTag + from) * kMembersPerTag + to);
}

}  // namespace

MpiGroup::MpiGroup(Request request, const MpiSession& session)
    : request_(std::move(request)), rank_(session.rank()) {
  const std::string title =
      std::string(to_string(request_.op)) + ' ' + std::to_string(request_.group);
  for (std::int64_t process : request_.processes) {
    if (process >= 0 && process < session.size()) continue;
    throw RunError(ErrorKind::Usage, title + ": a member lives in process " +
                                         std::to_string(process) + ", but MPI started " +
                                         std::to_string(session.size()));
  }
  if (std::ssize(request_.processes) > kMembersPerTag || request_.group >= kGroupsPerTag) {
    throw RunError(ErrorKind::Unsupported, title + ": over MPI at most " +
                                               std::to_string(kMembersPerTag) + " members and " +
                                               std::to_string(kGroupsPerTag) + " buckets");
  }
  std::vector<std::int64_t> host_of;
  for (std::int64_t process : request_.processes)
    host_of.push_back(session.hosts()[static_cast<std::size_t>(process)]);
  between_hosts_ = std::count(host_of.begin(), host_of.end(), host_of[0]) < std::ssize(host_of);
  // The library detects hosts itself.
  part_of_ = between_hosts_ && !by_library() ? host_of : request_.processes;
}

std::string MpiGroup::name(std::int64_t member) const {
  return std::string(to_string(request_.op)) + ' ' + std::to_string(request_.group) + ": member " +
         std::to_string(member) + " in process " + std::to_string(rank_);
}

bool MpiGroup::is_root(std::int64_t member) const {
  const auto dealt = parts(part_of_, request_.group);
  return std::any_of(dealt.begin(), dealt.end(),
                     [member](const Part& part) { return part.root == member; });
}

std::vector<MessageSchedule> MpiGroup::schedules(std::int64_t member, std::int64_t elements,
                                                 std::int64_t chunk_elements) const {
  const ScheduleRequest request{.op = request_.op,
                                .algorithm = request_.algorithm,
                                .members = std::ssize(request_.processes),
                                .member = member,
                                .group = request_.group,
                                .elements = elements,
                                .chunk_elements = chunk_elements,
                                .part_of = part_of_};
  std::vector<MessageSchedule> all;
  if (by_library()) {
    all.push_back(schedule_to_root(request));
    all.push_back(schedule_from_root(request));
  } else {
    all.push_back(schedule_collective(request));
  }
  return all;
}

std::map<std::int64_t, MpiLink> MpiGroup::links(std::int64_t member) {
  std::map<std::int64_t, MpiLink> links;
  for (std::int64_t other = 0; other < std::ssize(request_.processes); ++other) {
    MpiLink link{.process = static_cast<int>(request_.processes[static_cast<std::size_t>(other)]),
                 .send_tag = tag(request_.group, member, other),
                 .receive_tag = tag(request_.group, other, member)};
    if (link.process == rank_) {
      link.out = &channels_[{member, other}];
      link.in = &channels_[{other, member}];
    }
    links[other] = link;
  }
  return links;
}

MemberTraffic MpiGroup::traffic_of_roots(std::int64_t member, const TensorType& bucket) const {
  const auto dealt = parts(part_of_, request_.group);
  const auto own = std::find_if(dealt.begin(), dealt.end(),
                                [member](const Part& part) { return part.root == member; });
  return member_traffic({.algorithm = kRing,
                         .members = std::ssize(dealt),
                         .elements = bucket.elements(),
                         .element_bytes = size_of(bucket.element)},
                        own - dealt.begin());
}

void MpiGroup::connect(MpiComm all) {
  if (!by_library()) return;
  std::vector<int> ranks;
  for (const Part& part : parts(part_of_, request_.group)) {
    ranks.push_back(static_cast<int>(request_.processes[static_cast<std::size_t>(part.root)]));
  }
  mpi_call(mpi().comm_create_group(all, ranks, static_cast<int>(request_.group), communicator_),
           "MPI_Comm_create_group");
}

}  // namespace regatta::comm
