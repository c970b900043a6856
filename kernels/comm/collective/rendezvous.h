// SPDX-License-Identifier: Apache-2.0
//
// How the processes of a run tell each other a text before they can talk in the way that the text
// is about.
#pragma once

#include <string>
#include <vector>

#include "kernels/runtime/counter.h"

namespace regatta {

class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  virtual ~Rendezvous() = default;

  virtual int process() const = 0;
  virtual int processes() const = 0;

  /// By process: its text. Together with all processes.
  /// Throws: RunError(Timeout) that names who did not come, RunError(PeerLost), Aborted.
  virtual std::vector<std::string> exchange(const std::string& text, const Patience& patience) = 0;
};

/// Where there is one process.
class RendezvousAlone final : public Rendezvous {
 public:
  int process() const override { return 0; }
  int processes() const override { return 1; }
  std::vector<std::string> exchange(const std::string& text, const Patience&) override {
    return {text};
  }
};

}  // namespace regatta
