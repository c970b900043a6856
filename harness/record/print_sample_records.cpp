// SPDX-License-Identifier: Apache-2.0
//
// Prints the sample records; harness/program_tests/schema_test.py validates them against
// results/schema.json.
#include <iostream>

#include "harness/record/sample_record.h"

int main() {
  std::cout << regatta::to_json_line(regatta::sample_simulated_record())
            << regatta::to_json_line(regatta::sample_failed_record());
}
