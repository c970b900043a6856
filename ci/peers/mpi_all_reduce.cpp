// SPDX-License-Identifier: Apache-2.0
//
// Open MPI's side of the all-reduce comparison: MPI_Allreduce in place, f32 sum, with the sizes
// given on the command line. Rank 0 prints a line for each size: bytes, then seconds of one call by
// two protocols: the median of single calls, each after a barrier; and the median over blocks of
// the mean of calls back to back.
//   mpirun -n 2 mpi_all_reduce 4096 65536 ...
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kBlocks = 5;

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void all_reduce(std::vector<float>& buffer) {
  MPI_Allreduce(MPI_IN_PLACE, buffer.data(), static_cast<int>(buffer.size()), MPI_FLOAT, MPI_SUM,
                MPI_COMM_WORLD);
}

/// Seconds of one call: the median over `blocks` blocks of `calls` calls, each after a barrier.
double seconds_of_call(std::vector<float>& buffer, int blocks, int calls) {
  std::vector<double> seconds;
  for (int block = 0; block < blocks; ++block) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int call = 0; call < calls; ++call) all_reduce(buffer);
    seconds.push_back((MPI_Wtime() - begin) / calls);
  }
  return median(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    const long bytes = std::atol(argv[i]);
    std::vector<float> buffer(static_cast<std::size_t>(bytes / 4), 0.0F);
    const int repeats = static_cast<int>(std::clamp(200'000'000L / bytes, 15L, 2000L));
    for (int call = 0; call < 5; ++call) all_reduce(buffer);  // to warm up
    const double single = seconds_of_call(buffer, repeats, 1);
    const double back_to_back = seconds_of_call(buffer, kBlocks, std::max(repeats / kBlocks, 3));
    if (rank == 0) std::printf("%ld %.9f %.9f\n", bytes, single, back_to_back);
  }
  MPI_Finalize();
  return 0;
}
