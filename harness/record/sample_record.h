// SPDX-License-Identifier: Apache-2.0
//
// Records for tests: one with every field filled, and one with as few fields filled as possible.
#pragma once

#include "harness/record/record.h"

namespace regatta::record {

/// Returns the fields of sample_record() that do not have their defaults.
const char* sample_json();

/// Returns the record of a run that reached its target. No array is empty, and no optional field
/// except `failure` and `simulated`.
Record sample_record();

/// Returns sample_record() as that of a run in virtual time: `simulated` is set.
Record sample_simulated_record();

/// Returns the record of a run that failed before its first step. Every field that can be empty
/// then is empty.
Record sample_failed_record();

}  // namespace regatta::record
