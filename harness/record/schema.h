// SPDX-License-Identifier: Apache-2.0
//
// Generates results/schema.json, the JSON Schema of a record, from the declarations of its fields.
// A test compares the file with it.
#pragma once

#include <string>

namespace regatta::record {

/// Returns the text of results/schema.json.
std::string record_schema();

}  // namespace regatta::record
