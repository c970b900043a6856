// SPDX-License-Identifier: Apache-2.0
//
// A rendezvous of MPI ranks: each sends its text to every other rank. No MPI call blocks, so an
// exchange ends at its deadline at the latest, with an error that names the missing processes.
#pragma once

#include <memory>

#include "kernels/comm/collective/rendezvous.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta::comm {

class MpiRendezvous final : public Rendezvous {
 public:
  /// Called by all ranks together. The session must outlive the rendezvous.
  explicit MpiRendezvous(MpiSession& session);
  ~MpiRendezvous() override;

  int process() const override;
  int processes() const override;
  /// See Rendezvous::exchange(). `text` may have at most 64 KiB. Not called by two threads at once.
  std::vector<std::string> exchange(const std::string& text, const Patience& patience) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta::comm
