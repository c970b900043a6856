// SPDX-License-Identifier: Apache-2.0
//
// This process's use of MPI, from MPI_Init_thread to MPI_Finalize. A process has one session, which
// must be created before any other use of MPI and destroyed after all others.
// A process that ends because of a failure must not finalize, because MPI_Finalize waits for ranks
// that may be gone. It calls abandon(), writes its results and ends by _exit().
#pragma once

#include <string>
#include <vector>

namespace regatta::comm {

class MpiSession {
 public:
  /// Initialises MPI so that any thread may call it. Called from the main thread.
  /// Throws: RunError(Unsupported) if there is no MPI, or if several threads cannot call it.
  MpiSession();
  /// Finalizes MPI together with all other ranks, unless abandon() was called.
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Returns the host number of each rank. Hosts are numbered in the order of their first ranks.
  const std::vector<int>& hosts() const { return hosts_; }

  /// Broadcasts the text of rank `from`; returns it at every rank. Called by all ranks together.
  /// Throws: RunError(PeerLost).
  std::string broadcast(const std::string& text, int from = 0);

  /// Waits until all ranks have called it. Throws: RunError(PeerLost).
  void barrier();

  /// Makes the destructor leave MPI without MPI_Finalize.
  void abandon() { abandoned_ = true; }

  /// Returns MPI's version, such as `Open MPI v4.1.4, ...`; it must be the same for all ranks.
  /// Empty if there is no MPI. May be called without a session.
  static std::string library_version();

 private:
  void find_hosts();

  int rank_ = 0;
  int size_ = 1;
  std::vector<int> hosts_;
  bool abandoned_ = false;
};

}  // namespace regatta::comm
