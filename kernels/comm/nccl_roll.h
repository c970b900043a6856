// SPDX-License-Identifier: Apache-2.0
//
// Who takes part in communicators of NCCL and where: what the processes of a run tell each other
// before they call it. One line a fact, in any order:
//   member CLIQUE MEMBER GPU      a member lives in the process that says so, on that GPU
//   id CLIQUE HEX                 the unique id by which the clique's members find each other
// CLIQUE names the processes of its members in order, `0,1,2`, so it is the same everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace regatta {

/// What all processes know of one clique.
struct NcclClique {
  std::map<std::int64_t, std::string> gpus;  ///< by member
  std::string id;                            ///< bytes
};

class NcclRoll {
 public:
  static std::string clique_of(const std::vector<std::int64_t>& processes);

  void add_member(const std::string& clique, std::int64_t member, const std::string& gpu);
  void add_id(const std::string& clique, const std::string& bytes);
  std::string text() const { return text_; }

  /// From the texts of all processes.
  static std::map<std::string, NcclClique> read(const std::vector<std::string>& texts);

  /// Throws: RunError(Usage) where two members are on one GPU, which NCCL refuses without saying
  /// what to do, or hangs; RunError(PeerLost) where a member or the id is not in any text.
  static void verify(const std::string& clique, const NcclClique& members, std::int64_t count);

 private:
  std::string text_;
};

/// Names this machine, also where several containers on it have names of their own.
std::string host_name();

}  // namespace regatta
