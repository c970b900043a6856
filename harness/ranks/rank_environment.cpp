// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/rank_environment.h"

#include <cstdlib>

#include "harness/ranks/allocation.h"
#include "harness/ranks/control_protocol.h"
#include "kernels/base/error.h"

namespace regatta::ranks {

std::string variable_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

comm::RunIdentity identity_of_this_run() {
  return {.run_id = variable_or(kRunIdVariable, ""), .token = variable_or(kTokenVariable, "")};
}

int number_of_this_rank() {
  if (const auto rank = rank_in_allocation()) return *rank;
  throw RunError(
      ErrorKind::Usage,
      "REGATTA_COORDINATOR is set, but mpirun has not started this process; fix: unset it");
}

}  // namespace regatta::ranks
