// SPDX-License-Identifier: Apache-2.0
//
// A rendezvous of MPI's ranks: each sends its text to every other. No MPI call in it blocks, so an
// exchange ends at its deadline and can name the missing processes.
#pragma once

#include <memory>

#include "kernels/comm/collective/rendezvous.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta {

class MpiRendezvous final : public Rendezvous {
 public:
  /// Called by all ranks together. The session outlives the rendezvous.
  explicit MpiRendezvous(MpiSession& session);
  ~MpiRendezvous() override;

  int process() const override;
  int processes() const override;
  /// `text` has at most 64 KiB. Threads: one at a time.
  std::vector<std::string> exchange(const std::string& text, const Patience& patience) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
