// SPDX-License-Identifier: Apache-2.0
//
// The members of cliques (nccl_transport.h) and their GPUs, as text that the processes of a run
// exchange before they call NCCL. One fact per line, in any order:
//   member CLIQUE MEMBER GPU BUCKETS   the sending process holds this member, on this GPU; it
//                                      exchanges these buckets in this order
//   id CLIQUE HEX                      NCCL's unique id, by which the clique's members connect
// CLIQUE lists the processes of its members in order, `0,1,2`, so every process uses the same name.
// BUCKETS lists collectives with their numbers of elements, `0:4000,1:250`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace regatta {

/// One member. The texts contain no blanks.
struct NcclMember {
  std::string gpu;
  std::string buckets;
};

/// One clique, from the texts of all processes.
struct NcclClique {
  std::map<std::int64_t, NcclMember> members;  ///< by number
  std::string id;                              ///< bytes
};

/// Whether members of a communicator may share a GPU.
enum class SharedGpus : std::uint8_t { Refused, Allowed };

class NcclRoll {
 public:
  static std::string clique_of(const std::vector<std::int64_t>& processes);

  void add_member(const std::string& clique, std::int64_t number, const NcclMember& member);
  void add_id(const std::string& clique, const std::string& bytes);
  std::string text() const { return text_; }

  /// Parses the texts of all processes. Returns cliques by name.
  static std::map<std::string, NcclClique> read(const std::vector<std::string>& texts);

  /// Checks a clique of `count` members before NCCL is called, because NCCL would hang, fail
  /// without advice or add different buckets. Throws: RunError(Usage) if two members share a GPU
  /// although `shared` refuses it, RunError(Unsupported) if their orders of buckets differ,
  /// RunError(PeerLost) if a member or the id is missing.
  static void verify(const std::string& clique, const NcclClique& known, std::int64_t count,
                     SharedGpus shared);
  /// Whether any two members are on one GPU.
  static bool shares_gpus(const NcclClique& known);

 private:
  std::string text_;
};

/// Identifies this machine by its boot id, which its containers share, or else by its host name.
std::string host_id();

}  // namespace regatta
