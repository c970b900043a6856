// SPDX-License-Identifier: Apache-2.0
//
// Who takes part in communicators of NCCL and where: what the processes of a run tell each other
// before they call it. One line a fact, in any order:
//   member CLIQUE MEMBER GPU BUCKETS   a member lives in the process that says so, on that GPU, and
//                                      reduces these buckets in this order
//   id CLIQUE HEX                      the unique id by which the clique's members find each other
// CLIQUE names the processes of its members in order, `0,1,2`, so it is the same everywhere.
// BUCKETS are collectives with their elements, `0:4000,1:250`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace regatta {

/// What a member tells of itself. Without blanks.
struct NcclMember {
  std::string gpu;
  std::string buckets;
};

/// What all processes know of one clique.
struct NcclClique {
  std::map<std::int64_t, NcclMember> members;  ///< by number
  std::string id;                              ///< bytes
};

class NcclRoll {
 public:
  static std::string clique_of(const std::vector<std::int64_t>& processes);

  void add_member(const std::string& clique, std::int64_t number, const NcclMember& member);
  void add_id(const std::string& clique, const std::string& bytes);
  std::string text() const { return text_; }

  /// From the texts of all processes.
  static std::map<std::string, NcclClique> read(const std::vector<std::string>& texts);

  /// Throws: RunError(Usage) where two members are on one GPU, which NCCL refuses without saying
  /// what to do, or hangs; RunError(Unsupported) where they reduce buckets in different orders,
  /// with which it would add up what does not belong together, or hang; RunError(PeerLost) where a
  /// member or the id is not in any text.
  static void verify(const std::string& clique, const NcclClique& known, std::int64_t count);

 private:
  std::string text_;
};

/// Names this machine, also where several containers on it have names of their own.
std::string host_name();

}  // namespace regatta
