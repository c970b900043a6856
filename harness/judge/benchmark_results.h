// SPDX-License-Identifier: Apache-2.0
//
// Results of Google Benchmark programs (--benchmark_out=FILE.json): each benchmark with the times
// of all its repetitions, from any number of files. Aggregates are left out because they follow
// from the repetitions. A repetition's time is the one that the benchmark itself uses: real time if
// its name asks for it, else processor time, which other users of the machine do not lengthen.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace regatta {

struct BenchmarkResult {
  std::string program;  ///< the file's name: `all_reduce_bench`
  std::string name;     ///< `ring/65536/real_time/threads:2`
  std::string label;    ///< the benchmark's own label, such as the op; may be empty
  std::vector<double> seconds;
  std::size_t failed = 0;  ///< repetitions that ended in an error
};

/// Reads the benchmarks of `path`, a file or a folder of files NAME.json.
/// Throws: RunError(Data) naming the file that is not a Google Benchmark result.
std::vector<BenchmarkResult> read_benchmarks(const std::filesystem::path& path);

}  // namespace regatta
