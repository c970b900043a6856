// SPDX-License-Identifier: Apache-2.0
//
// Records for tests: one with every field filled, and one with as few fields filled as possible.
#pragma once

#include "harness/record/record.h"

namespace regatta {

/// A run that reached its target: every optional field except `failure` and `simulated`, and every
/// array is filled.
Record sample_record();

/// The same, with what a run in virtual time says of itself.
Record sample_simulated_record();

/// A run that failed before its first step: every field that can be empty then is empty.
Record sample_failed_record();

}  // namespace regatta
