// SPDX-License-Identifier: Apache-2.0
//
// The members of NCCL communicators and their GPUs, as text that the processes of a run exchange
// before they call NCCL. The members that share a communicator are a clique (nccl_transport.h). One
// fact per line, in any order:
//   member CLIQUE MEMBER GPU BUCKETS   the sending process holds this member, on this GPU; it
//                                      exchanges these buckets in this order
//   id CLIQUE HEX                      NCCL's unique id, with which the clique's members connect
// CLIQUE lists the processes of its members in order, `0,1,2`, so every process uses the same name.
// BUCKETS lists collectives with their numbers of elements, `0:4000,1:250`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace regatta::comm {

/// One member of a clique. Its strings contain no blanks.
struct NcclMember {
  std::string gpu;
  std::string buckets;
};

/// One clique, assembled from the texts of all processes.
struct NcclClique {
  std::map<std::int64_t, NcclMember> members;  ///< member number to member
  std::string id;                              ///< the bytes of NCCL's unique id
};

/// Whether members of a communicator may share a GPU.
enum class SharedGpus : std::uint8_t { Refused, Allowed };

class NcclRoll {
 public:
  static std::string clique_of(const std::vector<std::int64_t>& processes);

  void add_member(const std::string& clique, std::int64_t number, const NcclMember& member);
  void add_id(const std::string& clique, const std::string& bytes);
  std::string text() const { return text_; }

  /// Parses the texts of all processes. Returns a map from a clique's name to the clique.
  static std::map<std::string, NcclClique> read(const std::vector<std::string>& texts);

  /// Checks a clique that should have `count` members before NCCL is called; with a wrong clique
  /// NCCL would hang, fail without a helpful message, or add different buckets. Throws:
  /// RunError(Usage) if two members share a GPU although `shared` refuses it, RunError(Unsupported)
  /// if members exchange their buckets in different orders, RunError(PeerLost) if a member or the
  /// id is missing.
  static void verify(const std::string& clique, const NcclClique& known, std::int64_t count,
                     SharedGpus shared);
  /// Whether any two members of the clique are on one GPU.
  static bool shares_gpus(const NcclClique& known);

 private:
  std::string text_;
};

/// Returns an identifier of this machine: its boot id, which is the same in all its containers, or,
/// if there is none, its host name.
std::string host_id();

}  // namespace regatta::comm
