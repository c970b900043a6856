// SPDX-License-Identifier: Apache-2.0
//
// Compares our ring all-reduce with MPI_Allreduce between the same ranks, in alternating blocks: in
// place, f32, five warm-up calls. Rank 0 prints one line per size: the bytes, then four times of
// one call in seconds. The first two, ours and MPI's, are medians of single calls, each after a
// barrier; the last two, ours and MPI's, are medians over blocks of the mean of back-to-back calls.
// ci/peers/compare_all_reduce runs it.
//   mpirun -n 2 mpi_ring_times 4096 65536 ...
// --calls N sets the number of single calls; the default depends on the size. --algorithm NAME.
// --waits core|shared|communication imitates lanes with a core each, lanes that share cores, or
// communication lanes with a lane that computes (kernels/runtime/executor.cpp); the default depends
// on the number of cores.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "kernels/comm/mpi/mpi_call.h"
#include "kernels/comm/mpi/mpi_session.h"
#include "kernels/comm/mpi/mpi_transport.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

constexpr int kWarmUp = 5;
constexpr int kBlocks = 5;

struct Arguments {
  std::string algorithm{kRing};
  std::string waits;
  int calls = 0;  ///< 0: chosen by size
  std::vector<std::int64_t> sizes;
};

double median_seconds(std::vector<std::int64_t> times_ns) {
  std::sort(times_ns.begin(), times_ns.end());
  return static_cast<double>(times_ns[times_ns.size() / 2]) * 1e-9;
}

/// The time of one call on each side.
struct Seconds {
  double ours = 0;
  double library = 0;
};

/// This rank's member of an all-reduce over all ranks.
class Member {
 public:
  Member(MpiSession& session, const Arguments& arguments, std::int64_t bytes)
      : session_(session),
        transport_(session),
        buffer_(static_cast<std::size_t>(bytes / 4)),
        tensor_{.type = {ElementType::F32, {bytes / 4}}, .data = buffer_.data()} {
    std::vector<std::int64_t> processes(static_cast<std::size_t>(session.size()));
    std::iota(processes.begin(), processes.end(), 0);
    node_.op = Op::AllReduce;
    node_.member = session.rank();
    node_.attributes = {{"group", std::int64_t{0}},
                        {"members", std::int64_t{session.size()}},
                        {"algorithm", arguments.algorithm},
                        {"processes", processes}};
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    std::string waits = arguments.waits;
    if (waits.empty()) waits = session.size() <= cores ? "core" : "shared";
    KernelTable table("cpu");
    transport_.add_kernels(table);
    kernel_ = table.build({.node = node_,
                           .inputs = {&tensor_, 1},
                           .outputs = {&tensor_, 1},
                           .variables = {},
                           .versions_seen = {},
                           .spins = waits == "core" ? 400 : 0,
                           .yields = waits == "shared" ? 50 : 0});
    transport_.connect();
    run(kWarmUp);
    run_library(kWarmUp);
  }

  /// The medians of both sides over `blocks` blocks of `calls` calls, each block after a barrier.
  Seconds seconds_of_call(int blocks, int calls) {
    std::vector<std::int64_t> ours;
    std::vector<std::int64_t> library;
    for (int block = 0; block < blocks; ++block) {
      ours.push_back(span_of([&] { run(calls); }));
      library.push_back(span_of([&] { run_library(calls); }));
    }
    return {.ours = median_seconds(ours) / calls, .library = median_seconds(library) / calls};
  }

 private:
  template <typename Body>
  std::int64_t span_of(const Body& body) {
    session_.barrier();
    const std::int64_t begin = now_ns();
    body();
    return now_ns() - begin;
  }

  void run(int calls) {
    const StepContext context{.step = 0, .examples = 0, .counters = &counters_};
    for (int call = 0; call < calls; ++call) kernel_->run(context);
  }

  void run_library(int calls) {
    for (int call = 0; call < calls; ++call) {
      mpi_call(mpi().allreduce(buffer_.data(), static_cast<int>(buffer_.size()),
                               MpiReduction::SumF32, mpi().world()),
               "MPI_Allreduce");
    }
  }

  MpiSession& session_;
  MpiTransport transport_;
  std::vector<float> buffer_;
  Tensor tensor_;
  Node node_;
  LaneCounters counters_;
  std::unique_ptr<Kernel> kernel_;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag.rfind("--", 0) != 0) {
      arguments.sizes.push_back(std::atol(argv[i]));
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (flag == "--algorithm") arguments.algorithm = value;
    if (flag == "--waits") arguments.waits = value;
    if (flag == "--calls") arguments.calls = std::atoi(value);
  }
  return arguments;
}

}  // namespace
}  // namespace regatta::comm

int main(int argc, char** argv) {
  const regatta::comm::Arguments arguments = regatta::comm::parse(argc, argv);
  regatta::comm::MpiSession session;
  for (std::int64_t bytes : arguments.sizes) {
    const auto allowed = static_cast<int>(std::clamp<std::int64_t>(200'000'000 / bytes, 15, 2000));
    const int repeats = arguments.calls > 0 ? arguments.calls : allowed;
    regatta::comm::Member member(session, arguments, bytes);
    const regatta::comm::Seconds single = member.seconds_of_call(repeats, 1);
    const regatta::comm::Seconds back_to_back = member.seconds_of_call(
        regatta::comm::kBlocks, std::max(repeats / regatta::comm::kBlocks, 3));
    if (session.rank() == 0) {
      std::printf("%ld %.9f %.9f %.9f %.9f\n", bytes, single.ours, single.library,
                  back_to_back.ours, back_to_back.library);
    }
  }
  return 0;
}
