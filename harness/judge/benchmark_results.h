// SPDX-License-Identifier: Apache-2.0
//
// Results of Google Benchmark programs (--benchmark_out=FILE.json), as a comparison needs them:
// each benchmark with the times of all its repetitions, over however many files. Aggregates are
// left out; they are made of the repetitions. A repetition's time is the one that the program
// itself goes by: real time where the benchmark asks for it (its name says so), else that of the
// processor, which others who use the machine do not lengthen.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace regatta {

struct BenchmarkResult {
  std::string program;  ///< the file's name: `all_reduce_bench`
  std::string name;     ///< `ring/65536/real_time/threads:2`
  std::string label;    ///< what it says of itself, such as the op; may be empty
  std::vector<double> seconds;
  std::size_t failed = 0;  ///< repetitions that ended in an error
};

/// What `path`, a file or a folder of files NAME.json, holds.
/// Throws: RunError(Data) naming the file that is no result of Google Benchmark.
std::vector<BenchmarkResult> read_benchmarks(const std::filesystem::path& path);

}  // namespace regatta
