// SPDX-License-Identifier: Apache-2.0
//
// The other side of the all-reduce comparison: Open MPI's MPI_Allreduce in place, f32 sum, over the
// sizes given on the command line. Rank 0 prints a line a size: bytes, median seconds of one call.
//   mpirun -n 2 mpi_all_reduce 4096 65536 ...
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 1; i < argc; ++i) {
    const long bytes = std::atol(argv[i]);
    const int count = static_cast<int>(bytes / 4);
    std::vector<float> buffer(static_cast<std::size_t>(count), 0.0F);
    const int repeats = static_cast<int>(std::clamp(200'000'000L / bytes, 15L, 2000L));
    std::vector<double> seconds;
    for (int r = -5; r < repeats; ++r) {  // five to warm up
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, buffer.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (r >= 0) seconds.push_back(MPI_Wtime() - begin);
    }
    std::sort(seconds.begin(), seconds.end());
    if (rank == 0) std::printf("%ld %.9f\n", bytes, seconds[seconds.size() / 2]);
  }
  MPI_Finalize();
  return 0;
}
