// SPDX-License-Identifier: Apache-2.0
//
// This process' membership in what mpirun started: from MPI_Init_thread to MPI_Finalize. One for
// each process, made before whatever uses MPI and destroyed after it.
// A process that leaves because of a failure must not finalize: MPI_Finalize waits for ranks that
// may never come. It calls abandon(), writes what it has to write, and ends by _exit().
#pragma once

#include <string>
#include <vector>

namespace regatta {

class MpiSession {
 public:
  /// Throws: RunError(Unsupported) where MPI does not let several threads call it.
  /// Threads: the first of the process; others may call MPI from then on.
  MpiSession();
  /// Finalizes, together with all other ranks, unless abandoned.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// By rank: the number of its host. Hosts are numbered in the order of their first ranks.
  const std::vector<int>& hosts() const { return hosts_; }

  /// Rank 0's text, at every rank. Throws: RunError(PeerLost).
  std::string broadcast(const std::string& text);

  /// Until all ranks have come here. Throws: RunError(PeerLost).
  void barrier();

  /// The destructor does nothing from now on.
  void abandon() { abandoned_ = true; }

  /// `Open MPI v4.1.4, ...`: what ranks compare before they talk. Needs no session.
  static std::string library_version();

 private:
  void find_hosts();

  int rank_ = 0;
  int size_ = 1;
  std::vector<int> hosts_;
  bool abandoned_ = false;
};

}  // namespace regatta
