// SPDX-License-Identifier: Apache-2.0
//
// Texts that ranks of a real mpirun exchange by Open MPI before they call NCCL: its unique id and
// the GPU of each. NCCL is a double that records the arguments of its calls. Every rank runs every
// test.
#include <gtest/gtest.h>
#include <unistd.h>

#include <numeric>

#include "kernels/comm/mpi/mpi_rendezvous.h"
#include "kernels/comm/nccl/nccl_members_for_test.h"

namespace regatta::testing_support {
namespace {

MpiSession* session = nullptr;

/// The arguments with which this rank's communicator was made.
struct Made {
  std::string id;
  int ranks = 0;
  int rank = -1;
};
Made& made() {
  static Made call;
  return call;
}

/// Functions of a double that connects without the other ranks and records its arguments in made().
NcclCalls calls_of_one_rank() {
  NcclCalls table = nccl_double::calls();
  table.get_unique_id = [](ncclUniqueId* id) {  // bytes of all values, zero too
    std::iota(id->internal, id->internal + sizeof id->internal, static_cast<char>(getpid()));
    return ncclSuccess;
  };
  table.comm_init_rank_config = [](ncclComm_t* handle, int ranks, ncclUniqueId id, int rank,
                                   ncclConfig_t*) {
    made() = {.id = std::string(id.internal, sizeof id.internal), .ranks = ranks, .rank = rank};
    *handle = reinterpret_cast<ncclComm_t>(&made());
    return ncclInProgress;
  };
  table.comm_get_async_error = [](ncclComm_t, ncclResult_t* state) {
    *state = ncclSuccess;
    return ncclSuccess;
  };
  table.comm_register = [](ncclComm_t, void*, std::size_t, void**) { return ncclSuccess; };
  table.comm_deregister = [](ncclComm_t, void*) { return ncclSuccess; };
  table.all_reduce = [](const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                        cudaStream_t) { return ncclSuccess; };
  table.group_end = [] { return ncclInProgress; };
  table.comm_finalize = [](ncclComm_t) { return ncclInProgress; };
  table.comm_destroy = [](ncclComm_t) { return ncclSuccess; };
  table.comm_abort = [](ncclComm_t) { return ncclSuccess; };
  return table;
}

/// This rank's member on GPU `gpu` of its host.
class Participant {
 public:
  explicit Participant(int gpu)
      : transport_(std::make_unique<MpiRendezvous>(*session), {.calls = &calls_}) {
    transport_.add_kernels(table_);
    Case test;
    for (int rank = 0; rank < session->size(); ++rank) test.processes.push_back(rank);
    test.gpus.assign(test.processes.size(), gpu);
    member_ = std::make_unique<Member>(table_, test, session->rank(), nullptr);
  }

  void connect() { transport_.connect(); }

 private:
  NcclCalls calls_ = calls_of_one_rank();
  NcclTransport transport_;
  KernelTable table_{"test"};
  std::unique_ptr<Member> member_;
};

TEST(NcclOverProcesses, MakesAllCommunicatorsWithTheIdOfTheFirstRank) {
  Participant here(session->rank());
  here.connect();
  EXPECT_EQ(made().ranks, session->size());
  EXPECT_EQ(made().rank, session->rank());
  ncclUniqueId own{};
  calls_of_one_rank().get_unique_id(&own);
  const std::string id_of_first =
      session->broadcast(std::string(own.internal, sizeof own.internal));
  EXPECT_EQ(made().id, id_of_first);
}

TEST(NcclOverProcesses, IsRefusedAtEveryRankWhereTwoAreOnOneGpu) {
  made() = {};
  Participant here(0);
  const RunError error = error_of([&] { here.connect(); });
  EXPECT_EQ(error.kind(), ErrorKind::Usage);
  const std::string text = error.what();
  EXPECT_NE(text.find("members 0 and 1 are both on GPU "), std::string::npos) << text;
  EXPECT_NE(text.find("--all-reduce reduce_to_one"), std::string::npos) << text;
  EXPECT_EQ(made().rank, -1) << "NCCL was called";
}

}  // namespace
}  // namespace regatta::testing_support

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  regatta::MpiSession session;
  regatta::testing_support::session = &session;
  return RUN_ALL_TESTS();
}
