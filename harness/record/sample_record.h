// SPDX-License-Identifier: Apache-2.0
//
// Records for tests: one with every field filled, and one with as few fields filled as possible.
#pragma once

#include "harness/record/record.h"

namespace regatta {

/// A run that reached its target, with every array filled, and every optional field except
/// `failure` and `simulated`.
Record sample_record();

/// The same record with the fields of a run in virtual time.
Record sample_simulated_record();

/// A run that failed before its first step, with every field empty that can be empty then.
Record sample_failed_record();

}  // namespace regatta
