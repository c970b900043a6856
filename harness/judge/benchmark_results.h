// SPDX-License-Identifier: Apache-2.0
//
// Results of Google Benchmark programs (--benchmark_out=FILE.json): each benchmark with the times
// of all its repetitions, from any number of files. Aggregates are left out because they follow
// from the repetitions. A repetition's time is real time if the benchmark's name contains
// `/real_time` or `/manual_time`, else processor time, which other programs do not lengthen.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace regatta::judge {

struct BenchmarkResult {
  std::string program;          ///< the result file's name: `all_reduce_bench`
  std::string name;             ///< `ring/65536/real_time/threads:2`
  std::string label;            ///< the benchmark's own label, such as the op; may be empty
  std::vector<double> seconds;  ///< the time of each repetition that succeeded
  std::size_t failed = 0;       ///< repetitions that ended in an error
};

/// Reads the benchmarks from `path`, which is one JSON file or a folder of files NAME.json.
/// Throws: RunError(Data) naming the file that is not a Google Benchmark result.
std::vector<BenchmarkResult> read_benchmarks(const std::filesystem::path& path);

}  // namespace regatta::judge
