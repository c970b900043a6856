// SPDX-License-Identifier: Apache-2.0
//
// Prints the sample records, for harness/schema_test.py to hold against results/schema.json.
#include <iostream>

#include "harness/sample_record.h"

int main() {
  std::cout << regatta::to_json_line(regatta::sample_record())
            << regatta::to_json_line(regatta::sample_failed_record());
}
