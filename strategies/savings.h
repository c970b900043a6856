// SPDX-License-Identifier: Apache-2.0
//
// Lists changes that save memory, for a run whose step does not fit.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/option.h"

namespace regatta::strategies {

struct Saving {
  std::string flags;     ///< such as `--recompute full`
  std::string strategy;  ///< replaces the run's strategy
  OptionValues options;  ///< all options of the changed run
};

/// Returns changes of a run with this strategy and these options, the mildest first. Some may not
/// apply to its workload.
std::vector<Saving> savings(const std::string& strategy, const OptionValues& options);

}  // namespace regatta::strategies
