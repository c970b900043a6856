// SPDX-License-Identifier: Apache-2.0
//
// Cases of equivalence_test whose workloads are language models.
#pragma once

#include <vector>

#include "strategies/equivalence_for_test.h"

namespace regatta::strategies {

/// Adds replicas of stages of shards: the pairs with four places and the triple with eight.
void add_shards_of_stages(const testing_support::Case& base,
                          std::vector<testing_support::Case>& cases);

/// Returns cases of 11 sequences, which are uneven shares; the three heads are uneven among two
/// shards.
std::vector<testing_support::Case> language_cases();

/// Returns shares of tokens: of the blocks of GPT and Llama, with replicas, microbatches and
/// stages.
std::vector<testing_support::Case> context_cases();

/// Returns matrices that are updated as a whole: dealt to workers and to servers, some to several
/// stages.
std::vector<testing_support::Case> muon_cases();

}  // namespace regatta::strategies
