// SPDX-License-Identifier: Apache-2.0
//
// For benchmarks of kernels: times ops with a given number of threads, each pinned to a core.
#pragma once

#include <benchmark/benchmark.h>
#include <omp.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/cpu/built_op_for_test.h"
#include "kernels/runtime/affinity.h"

namespace regatta::cpu::test {

/// Pins each thread to a core, if there are enough: threads that begin on one core stay there for
/// some milliseconds and take several times as long.
inline void pin_team(int threads) {
  if (threads > static_cast<int>(std::thread::hardware_concurrency())) return;
#pragma omp parallel num_threads(threads)
  pin_thread({omp_get_thread_num()});
}

/// Runs one step's kernels in order.
inline void run_all(benchmark::State& state, std::vector<std::unique_ptr<BuiltOp>>& ops,
                    int threads) {
  omp_set_num_threads(threads);
  pin_team(threads);
  StepContext context;
  for (const auto& op : ops) op->kernel().run(context);  // touches all memory
  for (auto _ : state) {
    for (const auto& op : ops) op->kernel().run(context);
    ++context.step;
  }
}

/// Runs one op and reports the bytes that it must read and write.
inline void run_one(benchmark::State& state, const OpCase& op_case, int threads) {
  std::vector<std::unique_ptr<BuiltOp>> ops;
  ops.push_back(std::make_unique<BuiltOp>(cpu_table(), op_case, threads));
  run_all(state, ops, threads);
  std::int64_t bytes = 0;
  for (const Array& input : op_case.inputs) bytes += input.type.bytes();
  for (const Array& output : ops[0]->outputs()) bytes += output.type.bytes();
  state.SetBytesProcessed(bytes * state.iterations());
}

}  // namespace regatta::cpu::test
