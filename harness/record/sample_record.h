// SPDX-License-Identifier: Apache-2.0
//
// Records for tests: one with every field filled, and one as bare as a record can be.
#pragma once

#include "harness/record/record.h"

namespace regatta {

/// Reached its target; no optional field but `failure` is empty, no array is.
Record sample_record();

/// Failed before its first step; everything that can be empty is.
Record sample_failed_record();

}  // namespace regatta
