// SPDX-License-Identifier: Apache-2.0
//
// A rendezvous of MPI's ranks: each sends its text to each. Nothing blocks inside MPI, so that the
// deadline holds and who is missing is known.
#pragma once

#include <memory>

#include "kernels/comm/collective/rendezvous.h"
#include "kernels/comm/mpi/mpi_session.h"

namespace regatta {

class MpiRendezvous final : public Rendezvous {
 public:
  /// Together with all ranks. The session outlives it.
  explicit MpiRendezvous(MpiSession& session);
  ~MpiRendezvous() override;

  int process() const override;
  int processes() const override;
  /// Texts of at most 64 KiB. Threads: one at a time.
  std::vector<std::string> exchange(const std::string& text, const Patience& patience) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace regatta
