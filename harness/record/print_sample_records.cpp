// SPDX-License-Identifier: Apache-2.0
//
// Prints the sample records, which harness/program_tests/schema_test.py validates against
// results/schema.json. `print_sample_records schema` prints the contents of that file.
#include <iostream>
#include <string_view>

#include "harness/record/sample_record.h"
#include "harness/record/schema.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "schema") {
    std::cout << regatta::record::record_schema();
    return 0;
  }
  std::cout << regatta::record::to_json_line(regatta::record::sample_simulated_record())
            << regatta::record::to_json_line(regatta::record::sample_failed_record());
}
