// SPDX-License-Identifier: Apache-2.0
//
// Exchanges texts between all processes of a run before their transports connect: for example the
// addresses to connect to.
#pragma once

#include <string>
#include <vector>

#include "kernels/runtime/counter.h"

namespace regatta::comm {

class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  virtual ~Rendezvous() = default;

  virtual int process() const = 0;
  virtual int processes() const = 0;

  /// Sends `text` to all processes. Returns the texts of all processes; entry p is that of process
  /// p. Called by all processes together.
  /// Throws: RunError(Timeout) that names the missing processes, RunError(PeerLost), Aborted.
  virtual std::vector<std::string> exchange(const std::string& text, const Patience& patience) = 0;
};

/// The rendezvous of a single process.
class RendezvousAlone final : public Rendezvous {
 public:
  int process() const override { return 0; }
  int processes() const override { return 1; }
  std::vector<std::string> exchange(const std::string& text, const Patience&) override {
    return {text};
  }
};

}  // namespace regatta::comm
