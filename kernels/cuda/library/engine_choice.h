// SPDX-License-Identifier: Apache-2.0
//
// Chooses the engine of a convolution: the first that runs (EngineRule::Heuristic), or the one that
// trials find fastest. Trials go round by round through all candidates, so that drift of the GPU's
// clock favours none. The first round warms up, the second drops hopeless candidates, and the
// median of each remaining candidate's times decides. A later candidate displaces an earlier one
// only if it is faster by more than the noise of trials, so that choices seldom change from run to
// run. The code here does not depend on a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kernels/runtime/devices.h"

namespace regatta::cuda {

/// Number of rounds of trials whose times are compared.
inline constexpr int kTrialRounds = 5;
/// A later candidate wins only if it takes less than this share of an earlier one's time.
inline constexpr double kFasterShare = 0.97;
/// Candidates that take more than this many times the fastest one's time are dropped.
inline constexpr double kHopeless = 2;

/// Runs a candidate several times and returns the time of one run; empty if it does not run. Units:
/// ns.
using RunTimed = std::function<std::optional<double>(std::size_t candidate)>;

struct EngineChoice {
  std::size_t candidate = 0;
  EngineRule rule = EngineRule::Heuristic;
  // Results of trials:
  std::size_t first = 0;  ///< the first candidate that ran; Heuristic's choice if memory suffices
  std::size_t timed = 0;  ///< number of candidates that ran
  double ns = 0;
  double first_ns = 0;

  /// Describes the choice: `the heuristics' first that runs`, or `fastest of 6, 0.0512 ms; the
  /// heuristics' first 0.0671 ms`.
  std::string text() const;
};

/// Chooses among candidates 0 … `candidates` - 1, presumably the fastest first. Empty if none runs.
std::optional<EngineChoice> choose_engine(EngineRule rule, std::size_t candidates,
                                          const RunTimed& run);

/// The choices of this process, kept so that equal convolutions round alike and are tried only
/// once. Threads: any; a thread waits for a trial that another thread runs.
class EngineChoices {
 public:
  /// Returns the choice for `key`. Calls `choose` if there is none yet; an empty result is kept,
  /// too.
  std::optional<EngineChoice> find_or_choose(
      const std::string& key, const std::function<std::optional<EngineChoice>()>& choose);

 private:
  std::mutex mutex_;
  std::map<std::string, std::optional<EngineChoice>> choices_;
};

}  // namespace regatta::cuda
