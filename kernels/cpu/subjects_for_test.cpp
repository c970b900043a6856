// SPDX-License-Identifier: Apache-2.0
//
// The subjects of the CPU's tests of ops: its kernels, on one thread and on two.
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = [] {
    std::vector<Subject> made;
    for (int threads : {1, 2}) {
      made.push_back({" on " + std::to_string(threads) + " threads",
                      [threads](const OpCase& op_case, std::int64_t steps) {
                        return run_op(cpu_table(), op_case, threads, steps);
                      }});
    }
    return made;
  }();
  return all;
}

}  // namespace regatta::cpu::test
