// SPDX-License-Identifier: Apache-2.0
//
// Prints the sample records, for harness/program_tests/schema_test.py to hold against
// results/schema.json.
#include <iostream>

#include "harness/record/sample_record.h"

int main() {
  std::cout << regatta::to_json_line(regatta::sample_record())
            << regatta::to_json_line(regatta::sample_failed_record());
}
