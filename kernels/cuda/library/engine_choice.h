// SPDX-License-Identifier: Apache-2.0
//
// Which of several engines computes a convolution: the first that runs (EngineRule::Heuristic), or
// the one that trials find fastest. Trials go round by round through all candidates, so that a
// GPU's clock that rises or falls meanwhile favours none of them; the first round warms up, the
// second drops those that are hopeless, and of the others the median counts. A later candidate
// displaces an earlier one only where it is faster by more than trials differ, so that choices
// seldom change from run to run. Nothing here knows a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kernels/runtime/devices.h"

namespace regatta::cuda {

/// Rounds of trials that count.
inline constexpr int kTrialRounds = 5;
/// A later candidate takes less than this share of an earlier one's time, or stands back.
inline constexpr double kFasterShare = 0.97;
/// Candidates that take so many times the fastest one's time are tried no more.
inline constexpr double kHopeless = 2;

/// Runs a candidate some times and tells what a run took; nothing where it does not run. Units: ns.
using RunTimed = std::function<std::optional<double>(std::size_t candidate)>;

struct EngineChoice {
  std::size_t candidate = 0;
  EngineRule rule = EngineRule::Heuristic;
  // Of trials:
  std::size_t first = 0;  ///< the first that ran; where memory suffices, what Heuristic takes
  std::size_t timed = 0;  ///< candidates that ran
  double ns = 0;
  double first_ns = 0;

  /// `the heuristics' first that runs`; `fastest of 6, 0.0512 ms; the heuristics' first 0.0671 ms`.
  std::string text() const;
};

/// Of so many candidates, the presumably fastest first. Nothing where none runs.
std::optional<EngineChoice> choose_engine(EngineRule rule, std::size_t candidates,
                                          const RunTimed& run);

/// What was chosen in this process, so that equal convolutions round alike and are tried once.
/// Threads: any; who asks for what is being tried waits for it.
class EngineChoices {
 public:
  /// What was chosen for the key, by `choose` where nothing was; of a choice among nothing, too.
  std::optional<EngineChoice> find_or_choose(
      const std::string& key, const std::function<std::optional<EngineChoice>()>& choose);

 private:
  std::mutex mutex_;
  std::map<std::string, std::optional<EngineChoice>> choices_;
};

}  // namespace regatta::cuda
